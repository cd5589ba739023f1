// CHECK and DCHECK for broken invariants of our own code. Never for input:
// input that is wrong is reported as an absl::Status.
#ifndef GRAPHNET_BASE_CHECK_H_
#define GRAPHNET_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

// LibTorch's logging has macros of these names; where both are seen, ours count.
#undef CHECK
#undef DCHECK

#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) [[unlikely]] {                                                     \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)

#ifdef NDEBUG
#define DCHECK(condition)        \
  do {                           \
    if (false) CHECK(condition); \
  } while (false)
#else
#define DCHECK(condition) CHECK(condition)
#endif

#endif  // GRAPHNET_BASE_CHECK_H_

// CHECK and DCHECK for broken invariants of our own code. Never for input:
// input that is wrong is reported as an absl::Status.
#ifndef GRAPHNET_BASE_CHECK_H_
#define GRAPHNET_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

// LibTorch's logging has macros of these names; where both are seen, ours count.
#undef CHECK
#undef DCHECK

#define CHECK(condition) CHECK_SAYS(condition, "%s", #condition)

// Ditto, and says what is wrong: a format of printf and its arguments.
#define CHECK_SAYS(condition, ...)                                       \
  do {                                                                   \
    if (!(condition)) [[unlikely]] {                                     \
      std::fprintf(stderr, "%s:%d: check failed: ", __FILE__, __LINE__); \
      std::fprintf(stderr, __VA_ARGS__);                                 \
      std::fputc('\n', stderr);                                          \
      std::abort();                                                      \
    }                                                                    \
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

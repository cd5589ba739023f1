// CHECK and DCHECK, for broken invariants of our own code. Wrong input is reported as an
// absl::Status instead.
#ifndef GRAPHNET_BASE_CHECK_H_
#define GRAPHNET_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

// LibTorch's logging defines macros of these names. Ours replace them.
#undef CHECK
#undef DCHECK

// Aborts with the file, the line and the condition if the condition is false.
#define CHECK(condition) CHECK_SAYS(condition, "%s", #condition)

// Like CHECK, and prints a printf-style message.
#define CHECK_SAYS(condition, ...)                                       \
  do {                                                                   \
    if (!(condition)) [[unlikely]] {                                     \
      std::fprintf(stderr, "%s:%d: check failed: ", __FILE__, __LINE__); \
      std::fprintf(stderr, __VA_ARGS__);                                 \
      std::fputc('\n', stderr);                                          \
      std::abort();                                                      \
    }                                                                    \
  } while (false)

// Like CHECK in debug builds; compiled but never evaluated in others.
#ifdef NDEBUG
#define DCHECK(condition)        \
  do {                           \
    if (false) CHECK(condition); \
  } while (false)
#else
#define DCHECK(condition) CHECK(condition)
#endif

#endif  // GRAPHNET_BASE_CHECK_H_

// What LibTorch throws, as a status.
#ifndef GRAPHNET_INTERP_TORCH_STATUS_H_
#define GRAPHNET_INTERP_TORCH_STATUS_H_

#include "absl/status/status.h"

namespace graphnet {

// Of the exception that is being handled, in a catch (...): InvalidArgument
// with its message in one line; ResourceExhausted when memory
// ran out.
absl::Status CurrentExceptionStatus();

// What fn() returns, a StatusOr, or what it throws.
template <typename Fn>
auto Guarded(Fn&& fn) -> decltype(fn()) {
  try {
    return fn();
  } catch (...) {
    return CurrentExceptionStatus();
  }
}

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_TORCH_STATUS_H_

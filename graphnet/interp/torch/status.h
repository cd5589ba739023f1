// Converts exceptions of LibTorch to statuses.
#ifndef GRAPHNET_INTERP_TORCH_STATUS_H_
#define GRAPHNET_INTERP_TORCH_STATUS_H_

#include "absl/status/status.h"

namespace graphnet {

// Returns the exception that is being handled, in a catch (...), as InvalidArgument with its
// message in one line; ResourceExhausted if memory ran out.
absl::Status CurrentExceptionStatus();

// Returns fn(), a Status or StatusOr; if fn throws, returns CurrentExceptionStatus().
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

// Turns exceptions of libraries into statuses.
#ifndef GRAPHNET_BASE_WITHOUT_EXCEPTIONS_H_
#define GRAPHNET_BASE_WITHOUT_EXCEPTIONS_H_

#include <exception>

#include "absl/status/status.h"
#include "graphnet/base/status.h"

namespace graphnet {

// Returns the Status or StatusOr that `fn` returns. If `fn` throws, which mostly means that memory
// ran out, returns ResourceExhausted with the exception's message.
template <typename Fn>
auto WithoutExceptions(Fn&& fn) -> decltype(fn()) {
  try {
    return fn();
  } catch (const std::exception& thrown) {
    return absl::ResourceExhaustedError(Printable(thrown.what(), 1000));
  } catch (...) {
    return absl::InternalError("something without words was thrown");
  }
}

}  // namespace graphnet

#endif  // GRAPHNET_BASE_WITHOUT_EXCEPTIONS_H_

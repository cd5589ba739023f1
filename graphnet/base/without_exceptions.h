// What libraries throw, as statuses.
#ifndef GRAPHNET_BASE_WITHOUT_EXCEPTIONS_H_
#define GRAPHNET_BASE_WITHOUT_EXCEPTIONS_H_

#include <exception>

#include "absl/status/status.h"
#include "graphnet/base/status.h"

namespace graphnet {

// What `fn` returns, a Status or StatusOr; ResourceExhausted with the words of what it throws,
// which is mostly that there is no memory.
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

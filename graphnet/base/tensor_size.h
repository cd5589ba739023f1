// The number of elements of a tensor whose sizes are not trusted.
#ifndef GRAPHNET_BASE_TENSOR_SIZE_H_
#define GRAPHNET_BASE_TENSOR_SIZE_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "graphnet/base/limits.h"

namespace graphnet {

// Returns the product of the sizes. Returns nullopt if a size is negative, or if the product of the
// nonzero sizes, which bounds every stride, exceeds kMaxTensorElements: a size of 0 must not hide
// huge ones.
inline std::optional<int64_t> NumElements(absl::Span<const int64_t> sizes) {
  int64_t elements = 1;
  bool is_empty = false;
  for (const int64_t size : sizes) {
    is_empty |= size == 0;
    if (size < 0 || (size > 0 && elements > kMaxTensorElements / size)) return std::nullopt;
    if (size > 0) elements *= size;
  }
  return is_empty ? 0 : elements;
}

}  // namespace graphnet

#endif  // GRAPHNET_BASE_TENSOR_SIZE_H_

// Copies between strided views of memory.
#ifndef GRAPHNET_BASE_STRIDED_COPY_H_
#define GRAPHNET_BASE_STRIDED_COPY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace graphnet {

// Returns the strides of a contiguous tensor, in elements, as torch.Tensor.stride does. The last
// one is 1.
std::vector<int64_t> RowMajorStrides(absl::Span<const int64_t> sizes);

// Returns the number of elements from the first place in memory to the last one, 0 for a tensor
// without elements. Returns nullopt unless each size has a stride that is not negative, and if the
// number is too large.
std::optional<int64_t> ElementsSpanned(absl::Span<const int64_t> sizes,
                                       absl::Span<const int64_t> strides);

// Returns whether a tensor with these strides takes memory in proportion to its elements: at most
// eight times as much, or that of 4,096 elements. Strides from a file may reach any distance.
bool AreModestStrides(absl::Span<const int64_t> sizes, absl::Span<const int64_t> strides);

// Assigns to[i, j, …] = from[i, j, …] for all indices below `sizes`. An element has `width` bytes,
// at least 1, and need not be aligned. Strides are in elements, one for each dimension, and may be
// 0 or negative. `from` and `to` point to the element with index 0, 0, …. Any number of dimensions
// is allowed; without dimensions, there is one element. `from` and `to` must not overlap. If
// elements of `to` overlap each other, it is unspecified which value remains.
void StridedCopy(size_t width, absl::Span<const int64_t> sizes, const void* from,
                 absl::Span<const int64_t> from_strides, void* to,
                 absl::Span<const int64_t> to_strides);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_STRIDED_COPY_H_

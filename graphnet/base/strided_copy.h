// Copies between views of memory, whose elements lie in any order.
#ifndef GRAPHNET_BASE_STRIDED_COPY_H_
#define GRAPHNET_BASE_STRIDED_COPY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace graphnet {

// As torch.Tensor.stride of a contiguous tensor: in elements, the last dimension's is 1.
std::vector<int64_t> RowMajorStrides(absl::Span<const int64_t> sizes);

// to[i, j, …] = from[i, j, …] for all indices below `sizes`. An element has `width` bytes, at least
// 1, and need not be aligned. Strides are in elements, one a dimension, and may be 0 or negative;
// `from` and `to` point to the element of index 0, 0, …. Any number of dimensions; none is one
// element. `from` and `to` do not overlap; where elements of `to` do, any of theirs remains.
void StridedCopy(size_t width, absl::Span<const int64_t> sizes, const void* from,
                 absl::Span<const int64_t> from_strides, void* to,
                 absl::Span<const int64_t> to_strides);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_STRIDED_COPY_H_

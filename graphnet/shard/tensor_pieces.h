// The parts of a tensor that the ranks of a mesh hold.
#ifndef GRAPHNET_SHARD_TENSOR_PIECES_H_
#define GRAPHNET_SHARD_TENSOR_PIECES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/ir/sample.h"
#include "graphnet/shard/mesh.h"
#include "graphnet/shard/sharding.h"

namespace graphnet::spmd {

// Of a tensor of `sizes`, by their place in row-major order: the elements of the part that the
// rank at `position` of the mesh holds. CheckSharding holds.
std::vector<size_t> PlacesOfPiece(absl::Span<const int64_t> sizes, const Sharding& sharding,
                                  const Mesh& mesh, size_t position);

// What the rank at `position` holds; the bytes are shared where that is all. InvalidArgument where
// the tensor cannot be divided so (CheckSharding), and if it lies in memory in another order.
absl::StatusOr<TensorData> PieceOf(const TensorData& whole, const Sharding& sharding,
                                   const Mesh& mesh, size_t position);

// The whole, of what the ranks hold, in the order of the mesh. InvalidArgument if their shapes are
// not those of its parts, or ranks that hold the same part differ in a bit.
absl::StatusOr<TensorData> WholeOf(absl::Span<const TensorData> pieces, const Sharding& sharding,
                                   const Mesh& mesh, absl::Span<const int64_t> sizes);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_TENSOR_PIECES_H_

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

// Returns the elements of the part that the rank at `position` of the mesh holds of a tensor of
// `sizes`, as indices in row-major order. CheckSharding must accept the arguments.
std::vector<size_t> PlacesOfPiece(absl::Span<const int64_t> sizes, const Sharding& sharding,
                                  const Mesh& mesh, size_t position);

// Returns the part that the rank at `position` holds. If that is the whole tensor, the bytes are
// shared. InvalidArgument if the tensor cannot be divided this way (CheckSharding), or if it is not
// in row-major order in memory.
absl::StatusOr<TensorData> PieceOf(const TensorData& whole, const Sharding& sharding,
                                   const Mesh& mesh, size_t position);

// Joins the parts that the ranks hold, in the order of the mesh. InvalidArgument if a part has the
// wrong shape, or if ranks that hold the same part differ in a bit.
absl::StatusOr<TensorData> WholeOf(absl::Span<const TensorData> pieces, const Sharding& sharding,
                                   const Mesh& mesh, absl::Span<const int64_t> sizes);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_TENSOR_PIECES_H_

// Sharding: how a tensor is laid out over the axes of a mesh. It is what DTensor calls
// placements and GSPMD a sharding, in the form of a dims_mapping:
//
//   [0, -1]           the first dimension is divided over axis 0 (Shard), the second is not
//   [-1, 1] sum(0)    and the ranks along axis 0 hold terms of a sum (Partial)
//   [-1, -1]          all ranks hold all of it (Replicate)
#ifndef GRAPHNET_SHARD_SHARDING_H_
#define GRAPHNET_SHARD_SHARDING_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/shard/mesh.h"

namespace graphnet::spmd {

// What makes one value of partial ones.
enum class ReduceType : uint8_t { kSum, kAvg, kMax, kMin, kProduct, kAny, kAll };
absl::string_view ReduceTypeName(ReduceType type);  // "sum"
std::optional<ReduceType> ParseReduceType(absl::string_view name);

inline constexpr int kReplicated = -1;

struct Sharding {
  std::vector<int> dims_mapping;      // by dimension: an axis of the mesh, or kReplicated
  std::map<int, ReduceType> partial;  // by axis of the mesh

  static Sharding Replicated(size_t rank) { return {std::vector<int>(rank, kReplicated), {}}; }
  bool is_replicated() const;
  friend bool operator==(const Sharding& a, const Sharding& b) = default;
};

// "[0, -1] sum(1)". What is read may lack the brackets.
std::string ShardingName(const Sharding& sharding);
absl::StatusOr<Sharding> ParseSharding(absl::string_view text);
// "x:0,-1".
absl::StatusOr<std::pair<std::string, Sharding>> ParseNamedSharding(absl::string_view text);

// InvalidArgument: an axis that `mesh` does not have, or one that is used twice.
absl::Status CheckAxes(const Sharding& sharding, const Mesh& mesh);
// Ditto, and of a tensor of these sizes: another rank, or a size that the axis does not divide.
absl::Status CheckSharding(const Sharding& sharding, const Mesh& mesh,
                           absl::Span<const int64_t> sizes);
// The sizes of the part that a rank holds.
std::vector<int64_t> LocalSizes(const Sharding& sharding, const Mesh& mesh,
                                absl::Span<const int64_t> sizes);

// What a node of a sharded graph is annotated with: "2x4[0, -1] sum(1)"; of a tuple one for
// each element, "2x4[0]; 2x4[0, -1]", of a list one for all of them. What is whole and of no
// known number of dimensions is "2x4[]".
std::string AnnotationOf(const Mesh& mesh, absl::Span<const Sharding> shardings);
struct ShardedValue {
  Mesh mesh;
  std::vector<Sharding> shardings;
};
absl::StatusOr<ShardedValue> ParseAnnotation(absl::string_view annotation);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_SHARDING_H_

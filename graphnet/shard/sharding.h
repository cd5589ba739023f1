// Sharding: how a tensor is laid out over the axes of a mesh. DTensor calls this placements, and
// GSPMD a sharding. Its form is a dims_mapping:
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

// The reduction that combines partial values into one.
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

// Returns a text such as "[0, -1] sum(1)". ParseSharding also accepts it without the brackets.
std::string ShardingName(const Sharding& sharding);
absl::StatusOr<Sharding> ParseSharding(absl::string_view text);
// Parses a name and a sharding, such as "x:0,-1".
absl::StatusOr<std::pair<std::string, Sharding>> ParseNamedSharding(absl::string_view text);

// Returns InvalidArgument if an axis is not in `mesh` or is used twice.
absl::Status CheckAxes(const Sharding& sharding, const Mesh& mesh);
// Returns InvalidArgument also if the tensor of `sizes` has another number of dimensions, or a size
// that its axis does not divide.
absl::Status CheckSharding(const Sharding& sharding, const Mesh& mesh,
                           absl::Span<const int64_t> sizes);
// Returns the sizes of the part that a rank holds.
std::vector<int64_t> LocalSizes(const Sharding& sharding, const Mesh& mesh,
                                absl::Span<const int64_t> sizes);

// Returns the annotation of a node of a sharded graph: "2x4[0, -1] sum(1)". A tuple has one
// sharding for each element, "2x4[0]; 2x4[0, -1]"; a list has one for all of them. A replicated
// value with an unknown number of dimensions is "2x4[]".
std::string AnnotationOf(const Mesh& mesh, absl::Span<const Sharding> shardings);
struct ShardedValue {
  Mesh mesh;
  std::vector<Sharding> shardings;
};
absl::StatusOr<ShardedValue> ParseAnnotation(absl::string_view annotation);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_SHARDING_H_

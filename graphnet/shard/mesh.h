// Mesh: a grid of ranks. Tensors are laid out over its axes.
#ifndef GRAPHNET_SHARD_MESH_H_
#define GRAPHNET_SHARD_MESH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet::spmd {

inline constexpr int64_t kMaxRanks = 65536;

struct Mesh {
  std::vector<int64_t> shape;  // ranks along each axis
  std::vector<int> ranks;      // row-major

  // Returns a mesh of ranks 0, 1, ….
  static Mesh Of(std::vector<int64_t> shape);

  int num_axes() const { return static_cast<int>(shape.size()); }
  size_t num_ranks() const { return ranks.size(); }
  int64_t size(int axis) const { return shape[static_cast<size_t>(axis)]; }
  // Returns the coordinate along `axis` of the rank at `position` of `ranks`.
  int64_t Coordinate(size_t position, int axis) const;
  // Returns the groups of ranks that differ along `axis` only, each in order.
  std::vector<std::vector<int>> LinesAlong(int axis) const;

  friend bool operator==(const Mesh& a, const Mesh& b) = default;
};

// Parses a mesh: "2x4" has ranks 0, 1, …, and "2{4, 5}" names its ranks.
absl::StatusOr<Mesh> ParseMesh(absl::string_view text);
std::string MeshName(const Mesh& mesh);

struct NamedMesh {
  std::string name;
  Mesh mesh;
};

// Returns the sizes of the pieces of `length` along an axis of `n` ranks: ceil(length / n) each
// until less is left, then the remainder, then 0. 5 over 4 ranks is 2, 2, 1, 0.
std::vector<int64_t> BalancedSplit(int64_t length, int64_t n);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_MESH_H_

// Mesh: ranks in a grid, over whose axes tensors are laid out.
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

  // Of ranks 0, 1, ….
  static Mesh Of(std::vector<int64_t> shape);

  int num_axes() const { return static_cast<int>(shape.size()); }
  size_t num_ranks() const { return ranks.size(); }
  int64_t size(int axis) const { return shape[static_cast<size_t>(axis)]; }
  // Of the rank at `position` of `ranks`, along `axis`.
  int64_t Coordinate(size_t position, int axis) const;
  // The ranks in groups that differ along `axis` only, each in order.
  std::vector<std::vector<int>> LinesAlong(int axis) const;

  friend bool operator==(const Mesh& a, const Mesh& b) = default;
};

// "2x4" of ranks 0, 1, …; "2{4, 5}" of others.
absl::StatusOr<Mesh> ParseMesh(absl::string_view text);
std::string MeshName(const Mesh& mesh);

struct NamedMesh {
  std::string name;
  Mesh mesh;
};

// The pieces of `length` along an axis of `n` ranks: ceil(length / n) as long as there is so
// much, then what is left: 5 over 4 is 2, 2, 1, 0.
std::vector<int64_t> BalancedSplit(int64_t length, int64_t n);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_MESH_H_

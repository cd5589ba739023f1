#include "graphnet/shard/mesh.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"

namespace graphnet::spmd {

Mesh Mesh::Of(std::vector<int64_t> shape) {
  Mesh mesh;
  mesh.shape = std::move(shape);
  int64_t n = 1;
  for (const int64_t size : mesh.shape) n *= size;
  mesh.ranks.resize(static_cast<size_t>(n));
  std::iota(mesh.ranks.begin(), mesh.ranks.end(), 0);
  return mesh;
}

int64_t Mesh::Coordinate(size_t position, int axis) const {
  auto rest = static_cast<int64_t>(position);
  for (int i = num_axes() - 1; i > axis; --i) rest /= size(i);
  return rest % size(axis);
}

std::vector<std::vector<int>> Mesh::LinesAlong(int axis) const {
  int64_t stride = 1;
  for (int i = num_axes() - 1; i > axis; --i) stride *= size(i);
  std::vector<std::vector<int>> lines;
  for (size_t first = 0; first < ranks.size(); ++first) {
    if (Coordinate(first, axis) != 0) continue;
    std::vector<int>& line = lines.emplace_back();
    for (int64_t i = 0; i < size(axis); ++i)
      line.push_back(ranks[first + static_cast<size_t>(i * stride)]);
  }
  return lines;
}

absl::StatusOr<Mesh> ParseMesh(absl::string_view text) {
  std::vector<int64_t> shape;
  int64_t ranks = 1;
  const size_t open = std::min(text.find('{'), text.size());
  for (const absl::string_view part : absl::StrSplit(text.substr(0, open), 'x')) {
    int64_t size = 0;
    if (!absl::SimpleAtoi(part, &size) || size < 1)
      return absl::InvalidArgumentError(
          absl::StrCat("mesh ", Printable(text), ": expected sizes of its axes, as in 2x4"));
    if (size > kMaxRanks || (ranks *= size) > kMaxRanks || shape.size() == 16)
      return absl::InvalidArgumentError(absl::StrCat("mesh ", Printable(text), ": has more than ",
                                                     kMaxRanks, " ranks or 16 axes"));
    shape.push_back(size);
  }
  Mesh mesh = Mesh::Of(std::move(shape));
  if (open == text.size()) return mesh;
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("mesh ", Printable(text), ": ", what));
  };
  absl::string_view list = text.substr(open + 1);
  if (!absl::ConsumeSuffix(&list, "}")) return error("expected its ranks, as in 2{4, 5}");
  mesh.ranks.clear();
  for (const absl::string_view part : absl::StrSplit(list, ',')) {
    int rank = 0;
    if (!absl::SimpleAtoi(part, &rank) || rank < 0 || rank >= kMaxRanks)
      return error("expected its ranks, as in 2{4, 5}");
    mesh.ranks.push_back(rank);
  }
  if (static_cast<int64_t>(mesh.ranks.size()) != ranks)
    return error(absl::StrCat("lists ", mesh.ranks.size(), " ranks, but its axes have ", ranks));
  std::vector<int> sorted = mesh.ranks;
  absl::c_sort(sorted);
  if (absl::c_adjacent_find(sorted) != sorted.end()) return error("has a rank twice");
  return mesh;
}

std::string MeshName(const Mesh& mesh) {
  std::string name = absl::StrJoin(mesh.shape, "x");
  if (mesh != Mesh::Of(mesh.shape))
    absl::StrAppend(&name, "{", absl::StrJoin(mesh.ranks, ", "), "}");
  return name;
}

std::vector<int64_t> BalancedSplit(int64_t length, int64_t n) {
  const int64_t piece = (length + n - 1) / n;
  std::vector<int64_t> pieces;
  for (int64_t i = 0; i < n; ++i)
    pieces.push_back(std::clamp<int64_t>(length - i * piece, 0, piece));
  return pieces;
}

}  // namespace graphnet::spmd

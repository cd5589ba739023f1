#include "graphnet/shard/reshard.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/status.h"

namespace graphnet::spmd {
namespace {

using Kind = ReshardStep::Kind;

constexpr absl::string_view kKinds[] = {"take_piece",     "keep_first", "all_gather", "all_reduce",
                                        "reduce_scatter", "all_to_all", "broadcast",  "gather",
                                        "reduce",         "send"};

// Collects the steps of a plan and keeps the layout that the tensor has after them.
class Planner {
 public:
  Planner(Layout from, absl::Span<const int64_t> sizes, int64_t element_bytes)
      : at_(std::move(from)), sizes_(sizes), element_bytes_(element_bytes) {}

  const Mesh& mesh() const { return at_.mesh; }
  const Sharding& sharding() const { return at_.sharding; }
  ReshardPlan Done(absl::string_view function) { return {function, std::move(steps_)}; }

  void Gather(int axis) {
    const int dim = DimOf(axis);
    const int64_t n = at_.mesh.size(axis);
    const int64_t piece = LocalBytes();
    Line(Kind::kAllGather, axis, (n - 1) * piece, n).dim = dim;
    Dim(dim) = kReplicated;
  }
  void TakePiece(int axis, int dim) {
    Line(Kind::kTakePiece, axis, 0, 0).dim = dim;
    Dim(dim) = axis;
  }
  void KeepFirst(int axis, ReduceType type) {
    Line(Kind::kKeepFirst, axis, 0, 0).reduce = type;
    at_.sharding.partial.emplace(axis, type);
  }
  void AllReduce(int axis) {
    const int64_t n = at_.mesh.size(axis);
    const int64_t part = (LocalBytes() + n - 1) / n;
    Line(Kind::kAllReduce, axis, 2 * (n - 1) * part, n).reduce = at_.sharding.partial.at(axis);
    at_.sharding.partial.erase(axis);
  }
  void ReduceScatter(int axis, int dim) {
    const ReduceType type = at_.sharding.partial.at(axis);
    at_.sharding.partial.erase(axis);
    Dim(dim) = axis;
    const int64_t n = at_.mesh.size(axis);
    ReshardStep& step = Line(Kind::kReduceScatter, axis, (n - 1) * LocalBytes(), n);
    step.dim = dim;
    step.reduce = type;
  }
  void AllToAll(int axis, int to_dim) {
    const int dim = DimOf(axis);
    const int64_t n = at_.mesh.size(axis);
    ReshardStep& step = Line(Kind::kAllToAll, axis, LocalBytes() / n, n * (n - 1));
    step.dim = dim;
    step.to_dim = to_dim;
    Dim(dim) = kReplicated;
    Dim(to_dim) = axis;
  }
  // Sends from the i-th rank to the i-th rank of `mesh`. Parts that stay on a rank do not move.
  void SendTo(const Mesh& mesh) {
    ReshardStep step = {Kind::kSend, {}};
    for (size_t i = 0; i < mesh.num_ranks(); ++i) {
      step.groups.push_back({at_.mesh.ranks[i], mesh.ranks[i]});
      if (at_.mesh.ranks[i] != mesh.ranks[i]) ++step.num_links;
    }
    step.bytes_per_link = step.num_links == 0 ? 0 : LocalBytes();
    step.piece = Piece();
    at_.mesh = mesh;
    steps_.push_back(std::move(step));
  }
  // Brings a partial, a replicated or a divided tensor to the one rank of `mesh`.
  void Shrink(const Mesh& mesh) {
    const int root = mesh.ranks[0];
    const int64_t links = absl::c_count_if(at_.mesh.ranks, [&](int rank) { return rank != root; });
    ReshardStep step = {Kind::kGather, {at_.mesh.ranks}};
    step.root = root;
    step.bytes_per_link = LocalBytes();
    step.num_links = links;
    step.piece = Piece();
    if (!at_.sharding.partial.empty()) {
      step.kind = Kind::kReduce;
      step.reduce = at_.sharding.partial.begin()->second;
    } else if (at_.sharding.is_replicated()) {
      const int source = absl::c_linear_search(at_.mesh.ranks, root) ? root : at_.mesh.ranks[0];
      step.kind = Kind::kSend;
      step.groups = {{source, root}};
      step.num_links = source == root ? 0 : 1;
      if (source == root) step.bytes_per_link = 0;
    } else {
      step.dim = DimOf(0);
    }
    steps_.push_back(std::move(step));
    at_ = {mesh, Sharding::Replicated(sizes_.size())};
  }
  // Broadcasts from the first rank of each group to all of it.
  void Broadcast(const Mesh& mesh, std::vector<std::vector<int>> groups) {
    ReshardStep step = {Kind::kBroadcast, std::move(groups)};
    for (const std::vector<int>& group : step.groups)
      step.num_links += absl::c_count_if(group, [&](int rank) { return rank != group[0]; });
    step.bytes_per_link = LocalBytes();
    step.piece = Piece();
    at_.mesh = mesh;
    steps_.push_back(std::move(step));
  }
  void KeepOnly(const Mesh& mesh) { at_.mesh = mesh; }

  // Changes the sharding on the same mesh, axis by axis.
  void Reach(const Sharding& to) {
    const auto wanted = [&](int axis) {
      const auto found = to.partial.find(axis);
      return found == to.partial.end() ? std::optional<ReduceType>() : found->second;
    };
    const std::map<int, ReduceType> partial = at_.sharding.partial;
    for (const auto& [axis, type] : partial) {
      if (wanted(axis) == type || absl::c_linear_search(to.dims_mapping, axis)) continue;
      AllReduce(axis);
    }
    for (int dim = static_cast<int>(sizes_.size()) - 1; dim >= 0; --dim) {
      if (Dim(dim) >= 0 && Dim(dim) != to.dims_mapping[static_cast<size_t>(dim)]) Gather(Dim(dim));
    }
    for (const auto& [axis, type] : to.partial) {
      if (!at_.sharding.partial.contains(axis)) KeepFirst(axis, type);
    }
    for (int dim = 0; dim < static_cast<int>(sizes_.size()); ++dim) {
      const int axis = to.dims_mapping[static_cast<size_t>(dim)];
      if (axis < 0 || Dim(dim) == axis) continue;
      if (at_.sharding.partial.contains(axis))
        ReduceScatter(axis, dim);
      else
        TakePiece(axis, dim);
    }
  }

 private:
  int& Dim(int dim) { return at_.sharding.dims_mapping[static_cast<size_t>(dim)]; }
  int DimOf(int axis) const {
    return static_cast<int>(absl::c_find(at_.sharding.dims_mapping, axis) -
                            at_.sharding.dims_mapping.begin());
  }
  // Returns the sizes of the largest piece.
  std::vector<int64_t> Piece() const {
    std::vector<int64_t> piece(sizes_.begin(), sizes_.end());
    for (size_t i = 0; i < piece.size(); ++i) {
      const int axis = at_.sharding.dims_mapping[i];
      if (axis >= 0) piece[i] = BalancedSplit(piece[i], at_.mesh.size(axis))[0];
    }
    return piece;
  }
  int64_t LocalBytes() const {
    int64_t bytes = element_bytes_;
    for (const int64_t size : Piece()) bytes *= size;
    return bytes;
  }
  ReshardStep& Line(Kind kind, int axis, int64_t bytes_per_link, int64_t links_of_line) {
    ReshardStep step = {kind, at_.mesh.LinesAlong(axis)};
    step.bytes_per_link = bytes_per_link;
    step.num_links = links_of_line * static_cast<int64_t>(step.groups.size());
    return steps_.emplace_back(std::move(step));
  }

  Layout at_;
  absl::Span<const int64_t> sizes_;
  int64_t element_bytes_;
  std::vector<ReshardStep> steps_;
};

struct Request {
  const Layout& from;
  const Layout& to;
  absl::Span<const int64_t> sizes;

  bool same_mesh() const { return from.mesh == to.mesh; }
  // True if the meshes have the same shape but different ranks.
  bool cross() const { return !same_mesh() && from.mesh.shape == to.mesh.shape; }
};

enum class State : uint8_t { kReplicated, kSharded, kPartial, kMixed };

State StateOf(const Layout& layout) {
  if (layout.mesh.num_axes() != 1) return State::kMixed;
  if (layout.sharding.is_replicated()) return State::kReplicated;
  return layout.sharding.partial.empty() ? State::kSharded : State::kPartial;
}

// Changes the sharding on a mesh of one axis, once source and target are on that mesh.
void Transit(Planner* planner, const Sharding& to) {
  const Sharding& from = planner->sharding();
  const auto dim = [](const Sharding& s) {
    return static_cast<int>(absl::c_find(s.dims_mapping, 0) - s.dims_mapping.begin());
  };
  const bool is_sharded = dim(to) < static_cast<int>(to.dims_mapping.size());
  if (dim(from) < static_cast<int>(from.dims_mapping.size())) planner->Gather(0);
  if (!to.partial.empty())
    planner->KeepFirst(0, to.partial.at(0));
  else if (!from.partial.empty() && is_sharded)
    planner->ReduceScatter(0, dim(to));
  else if (!from.partial.empty())
    planner->AllReduce(0);
  else if (is_sharded)
    planner->TakePiece(0, dim(to));
}

template <State kFrom, State kTo, bool kCross>
bool SuitsLine(const Request& r) {
  return (kCross ? r.cross() : r.same_mesh()) && StateOf(r.from) == kFrom && StateOf(r.to) == kTo &&
         r.from.sharding != r.to.sharding;
}

absl::Status PlanLine(const Request& r, Planner* planner) {
  planner->SendTo(r.to.mesh);
  Transit(planner, r.to.sharding);
  return absl::OkStatus();
}

absl::Status PlanSameLine(const Request& r, Planner* planner) {
  Transit(planner, r.to.sharding);
  return absl::OkStatus();
}

// Scatters before it sends, since pieces are fewer bytes than whole terms.
absl::Status PlanPToSCross(const Request& r, Planner* planner) {
  Transit(planner, r.to.sharding);
  planner->SendTo(r.to.mesh);
  return absl::OkStatus();
}

absl::Status PlanSToS(const Request& r, Planner* planner) {
  if (!r.same_mesh()) planner->SendTo(r.to.mesh);
  const int64_t n = r.to.mesh.size(0);
  bool is_even = true;
  int to_dim = -1;
  for (size_t i = 0; i < r.sizes.size(); ++i) {
    if (r.from.sharding.dims_mapping[i] >= 0 || r.to.sharding.dims_mapping[i] >= 0)
      is_even &= r.sizes[i] % n == 0;
    if (r.to.sharding.dims_mapping[i] >= 0) to_dim = static_cast<int>(i);
  }
  if (is_even)
    planner->AllToAll(0, to_dim);
  else
    Transit(planner, r.to.sharding);
  return absl::OkStatus();
}

// Returns whether the mesh has one axis and several ranks, or the tensor is replicated.
bool IsLineOrWhole(const Layout& layout) {
  return layout.mesh.num_ranks() > 1 &&
         (layout.mesh.num_axes() == 1 || layout.sharding.is_replicated());
}
bool IsOneRank(const Layout& layout) {
  return layout.mesh.num_axes() == 1 && layout.mesh.num_ranks() == 1 &&
         layout.sharding.is_replicated();
}

bool SuitsShrink(const Request& r) { return IsLineOrWhole(r.from) && IsOneRank(r.to); }

absl::Status PlanShrink(const Request& r, Planner* planner) {
  for (const auto& [axis, type] : r.from.sharding.partial) {
    if (type != ReduceType::kSum)
      return absl::InvalidArgumentError(absl::StrCat("reshard of ", LayoutName(r.from), " to ",
                                                     LayoutName(r.to),
                                                     ": only partial sums go to one rank"));
  }
  planner->Shrink(r.to.mesh);
  return absl::OkStatus();
}

bool SuitsExpand(const Request& r) { return IsOneRank(r.from) && r.to.mesh.num_ranks() > 1; }

absl::Status PlanExpand(const Request& r, Planner* planner) {
  std::vector<int> group = r.from.mesh.ranks;
  group.insert(group.end(), r.to.mesh.ranks.begin(), r.to.mesh.ranks.end());
  planner->Broadcast(r.to.mesh, {std::move(group)});
  if (r.to.mesh.num_axes() == 1)
    Transit(planner, r.to.sharding);
  else
    planner->Reach(r.to.sharding);
  return absl::OkStatus();
}

bool SuitsSameStatus(const Request& r) { return r.cross() && r.from.sharding == r.to.sharding; }
absl::Status PlanSameStatus(const Request& r, Planner* planner) {
  planner->SendTo(r.to.mesh);
  return absl::OkStatus();
}

bool SuitsSameNdMesh(const Request& r) { return r.same_mesh() && r.from.mesh.num_axes() > 1; }
absl::Status PlanSameNdMesh(const Request& r, Planner* planner) {
  planner->Reach(r.to.sharding);
  return absl::OkStatus();
}

bool SuitsCrossNdMesh(const Request& r) { return r.cross() && r.from.mesh.num_axes() > 1; }
absl::Status PlanCrossNdMesh(const Request& r, Planner* planner) {
  planner->SendTo(r.to.mesh);
  planner->Reach(r.to.sharding);
  return absl::OkStatus();
}

// Returns the axis along which `part` is the slice of `whole` at one coordinate; nullopt if it is
// not such a slice.
std::optional<int> SplitAxis(const Mesh& whole, const Mesh& part) {
  if (whole.shape.size() != part.shape.size()) return std::nullopt;
  std::optional<int> split;
  for (int axis = 0; axis < whole.num_axes(); ++axis) {
    if (whole.size(axis) == part.size(axis)) continue;
    if (part.size(axis) != 1 || split.has_value()) return std::nullopt;
    split = axis;
  }
  if (!split.has_value()) return std::nullopt;
  std::vector<std::vector<int>> slices(static_cast<size_t>(whole.size(*split)));
  for (size_t i = 0; i < whole.num_ranks(); ++i)
    slices[static_cast<size_t>(whole.Coordinate(i, *split))].push_back(whole.ranks[i]);
  if (!absl::c_linear_search(slices, part.ranks)) return std::nullopt;
  return split;
}

// Returns whether the tensor is replicated along the split axis of the whole mesh, and laid out on
// `part` as on each slice.
bool SuitsSubMesh(const Layout& whole, const Layout& part) {
  const auto axis = SplitAxis(whole.mesh, part.mesh);
  return axis.has_value() && whole.sharding == part.sharding &&
         !absl::c_linear_search(whole.sharding.dims_mapping, *axis) &&
         !whole.sharding.partial.contains(*axis);
}

bool SuitsGlobalToSubMesh(const Request& r) { return SuitsSubMesh(r.from, r.to); }
absl::Status PlanGlobalToSubMesh(const Request& r, Planner* planner) {
  planner->KeepOnly(r.to.mesh);
  return absl::OkStatus();
}

bool SuitsSubMeshToGlobal(const Request& r) { return SuitsSubMesh(r.to, r.from); }
absl::Status PlanSubMeshToGlobal(const Request& r, Planner* planner) {
  // In each line one rank has the value; it becomes the first.
  std::vector<std::vector<int>> lines = r.to.mesh.LinesAlong(*SplitAxis(r.to.mesh, r.from.mesh));
  for (std::vector<int>& line : lines) {
    const auto source = absl::c_find_if(
        line, [&](int rank) { return absl::c_linear_search(r.from.mesh.ranks, rank); });
    std::iter_swap(line.begin(), source);
  }
  planner->Broadcast(r.to.mesh, std::move(lines));
  return absl::OkStatus();
}

struct ReshardFunction {
  absl::string_view name;
  bool (*suits)(const Request& request);
  absl::Status (*plan)(const Request& request, Planner* planner);
};

constexpr State R = State::kReplicated;
constexpr State S = State::kSharded;
constexpr State P = State::kPartial;

constexpr ReshardFunction kFunctions[] = {
    {"SToR", &SuitsLine<S, R, false>, &PlanSameLine},
    {"SToRCrossMesh", &SuitsLine<S, R, true>, &PlanLine},
    {"SToP", &SuitsLine<S, P, false>, &PlanSameLine},
    {"SToPCrossMesh", &SuitsLine<S, P, true>, &PlanLine},
    {"RToS", &SuitsLine<R, S, false>, &PlanSameLine},
    {"RToSCrossMesh", &SuitsLine<R, S, true>, &PlanLine},
    {"RToP", &SuitsLine<R, P, false>, &PlanSameLine},
    {"RToPCrossMesh", &SuitsLine<R, P, true>, &PlanLine},
    {"PToR", &SuitsLine<P, R, false>, &PlanSameLine},
    {"PToRCrossMesh", &SuitsLine<P, R, true>, &PlanLine},
    {"PToS", &SuitsLine<P, S, false>, &PlanSameLine},
    {"PToSCrossMesh", &SuitsLine<P, S, true>, &PlanPToSCross},
    {"SToS", &SuitsLine<S, S, false>, &PlanSToS},
    {"SToSCrossMesh", &SuitsLine<S, S, true>, &PlanSToS},
    {"XToRShrink", &SuitsShrink, &PlanShrink},
    {"RToXExpand", &SuitsExpand, &PlanExpand},
    {"SameStatus", &SuitsSameStatus, &PlanSameStatus},
    {"SameNdMesh", &SuitsSameNdMesh, &PlanSameNdMesh},
    {"CrossNdMesh", &SuitsCrossNdMesh, &PlanCrossNdMesh},
    {"GlobalToSubMesh", &SuitsGlobalToSubMesh, &PlanGlobalToSubMesh},
    {"SubMeshToGlobal", &SuitsSubMeshToGlobal, &PlanSubMeshToGlobal},
};

absl::Status CheckLayout(const Layout& layout, size_t rank) {
  RETURN_IF_ERROR(CheckAxes(layout.sharding, layout.mesh));
  if (layout.sharding.dims_mapping.size() != rank)
    return absl::InvalidArgumentError(
        absl::StrCat(LayoutName(layout), ": the tensor has ", rank, " dimensions"));
  return absl::OkStatus();
}

// Normalises axes of one rank, along which all layouts are the same.
Layout Normal(Layout layout) {
  for (int& axis : layout.sharding.dims_mapping) {
    if (axis >= 0 && layout.mesh.size(axis) == 1) axis = kReplicated;
  }
  for (int axis = 0; axis < layout.mesh.num_axes(); ++axis) {
    if (layout.mesh.size(axis) == 1) layout.sharding.partial.erase(axis);
  }
  return layout;
}

}  // namespace

std::string LayoutName(const Layout& layout) {
  return absl::StrCat(MeshName(layout.mesh), ShardingName(layout.sharding));
}

absl::string_view ReshardKindName(ReshardStep::Kind kind) {
  return kKinds[static_cast<size_t>(kind)];
}

int64_t ReshardPlan::bytes_moved() const {
  int64_t bytes = 0;
  for (const ReshardStep& step : steps) bytes += step.bytes_per_link * step.num_links;
  return bytes;
}

std::string DescribePlan(const ReshardPlan& plan) {
  if (plan.function.empty()) return "nothing to do";
  const auto step = [](std::string* out, const ReshardStep& s) {
    absl::StrAppend(out, ReshardKindName(s.kind));
    if (s.to_dim >= 0)
      absl::StrAppend(out, "(dim ", s.dim, " to ", s.to_dim, ")");
    else if (s.dim >= 0)
      absl::StrAppend(out, "(dim ", s.dim, ")");
    if (s.num_links > 0)
      absl::StrAppend(out, " ", s.bytes_per_link, " bytes on ", s.num_links, " links");
  };
  return absl::StrCat(plan.function, ": ", absl::StrJoin(plan.steps, ", ", step));
}

absl::StatusOr<ReshardPlan> PlanReshard(const Layout& from, const Layout& to,
                                        absl::Span<const int64_t> sizes, int64_t element_bytes) {
  RETURN_IF_ERROR(CheckLayout(from, sizes.size()));
  RETURN_IF_ERROR(CheckLayout(to, sizes.size()));
  double bytes = static_cast<double>(element_bytes);
  for (const int64_t size : sizes) {
    if (size < 0 || size > kMaxReshardBytes ||
        (bytes *= static_cast<double>(size)) > kMaxReshardBytes)
      return absl::InvalidArgumentError(
          "cannot reshard a tensor that is too large or of unknown size");
  }
  const Layout source = Normal(from);
  const Layout target = Normal(to);
  Planner planner(source, sizes, element_bytes);
  const Request request = {source, target, sizes};
  if (request.same_mesh() && source.sharding == target.sharding) return ReshardPlan();
  // Replicated on the same ranks in a grid of another shape: nothing to do.
  if (source.mesh.ranks == target.mesh.ranks && source.sharding.is_replicated() &&
      target.sharding.is_replicated())
    return ReshardPlan();
  for (const ReshardFunction& function : kFunctions) {
    if (!function.suits(request)) continue;
    RETURN_IF_ERROR(function.plan(request, &planner));
    return planner.Done(function.name);
  }
  return absl::UnimplementedError(
      absl::StrCat("no reshard of ", LayoutName(from), " to ", LayoutName(to)));
}

absl::StatusOr<std::vector<Layout>> RouteReshard(const Layout& from, const Layout& to,
                                                 absl::Span<const int64_t> sizes) {
  const Layout whole = {from.mesh, Sharding::Replicated(sizes.size())};
  Mesh one = Mesh::Of({1});
  one.ranks = {from.mesh.ranks[0]};
  const Layout alone = {std::move(one), whole.sharding};
  absl::Status status;
  for (const std::vector<Layout>& way :
       std::vector<std::vector<Layout>>{{to}, {alone, to}, {whole, to}, {whole, alone, to}}) {
    const Layout* at = &from;
    absl::Status can;
    for (const Layout& next : way) {
      can.Update(PlanReshard(*at, next, sizes, /*element_bytes=*/1).status());
      at = &next;
    }
    if (can.ok()) return way;
    status.Update(can);
  }
  return status;
}

std::vector<absl::string_view> ReshardFunctions() {
  std::vector<absl::string_view> names;
  for (const ReshardFunction& function : kFunctions) names.push_back(function.name);
  return names;
}

}  // namespace graphnet::spmd

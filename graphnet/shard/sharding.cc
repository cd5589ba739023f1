#include "graphnet/shard/sharding.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"

namespace graphnet::spmd {
namespace {

constexpr absl::string_view kReduceTypes[] = {"sum", "avg", "max", "min", "product", "any", "all"};

absl::Status Error(absl::string_view text, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("sharding ", Printable(text), ": ", what));
}

}  // namespace

absl::string_view ReduceTypeName(ReduceType type) {
  return kReduceTypes[static_cast<size_t>(type)];
}

std::optional<ReduceType> ParseReduceType(absl::string_view name) {
  const auto* const found = absl::c_find(kReduceTypes, name);
  if (found == std::end(kReduceTypes)) return std::nullopt;
  return static_cast<ReduceType>(found - kReduceTypes);
}

bool Sharding::is_replicated() const {
  return partial.empty() && absl::c_all_of(dims_mapping, [](int axis) { return axis < 0; });
}

std::string ShardingName(const Sharding& sharding) {
  std::string name = absl::StrCat("[", absl::StrJoin(sharding.dims_mapping, ", "), "]");
  for (const auto& [axis, type] : sharding.partial)
    absl::StrAppend(&name, " ", ReduceTypeName(type), "(", axis, ")");
  return name;
}

absl::StatusOr<Sharding> ParseSharding(absl::string_view text) {
  const absl::string_view whole = text;
  Sharding sharding;
  absl::string_view mapping = text;
  absl::string_view partial;
  if (absl::ConsumePrefix(&mapping, "[")) {
    const size_t end = mapping.find(']');
    if (end == absl::string_view::npos) return Error(whole, "expected ]");
    partial = mapping.substr(end + 1);
    mapping = mapping.substr(0, end);
  } else if (const size_t end = text.find(' '); end != absl::string_view::npos) {
    mapping = text.substr(0, end);
    partial = text.substr(end);
  }
  if (!absl::StripAsciiWhitespace(mapping).empty()) {
    for (const absl::string_view part : absl::StrSplit(mapping, ',')) {
      int axis = 0;
      if (!absl::SimpleAtoi(part, &axis) || axis < kReplicated)
        return Error(whole, "expected an axis of the mesh, or -1, for each dimension");
      sharding.dims_mapping.push_back(axis);
    }
  }
  for (absl::string_view part : absl::StrSplit(partial, ' ', absl::SkipEmpty())) {
    const size_t open = part.find('(');
    int axis = 0;
    if (open == absl::string_view::npos || !absl::ConsumeSuffix(&part, ")") ||
        !absl::SimpleAtoi(part.substr(open + 1), &axis) || axis < 0)
      return Error(whole, "expected a partial state, as in sum(0)");
    const std::optional<ReduceType> type = ParseReduceType(part.substr(0, open));
    if (!type.has_value())
      return Error(whole,
                   absl::StrCat(Printable(part.substr(0, open)), " is not a reduction; there are ",
                                absl::StrJoin(kReduceTypes, ", ")));
    if (!sharding.partial.emplace(axis, *type).second)
      return Error(whole, absl::StrCat("uses axis ", axis, " twice"));
  }
  return sharding;
}

absl::StatusOr<std::pair<std::string, Sharding>> ParseNamedSharding(absl::string_view text) {
  // A name may contain colons, but a mapping may not.
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos || colon == 0)
    return Error(text, "expected NAME:AXIS,AXIS,…, as in x:0,-1");
  ASSIGN_OR_RETURN(Sharding sharding, ParseSharding(text.substr(colon + 1)));
  return std::make_pair(std::string(text.substr(0, colon)), std::move(sharding));
}

absl::Status CheckAxes(const Sharding& sharding, const Mesh& mesh) {
  std::vector<bool> used(mesh.shape.size());
  const auto use = [&](int axis) -> absl::Status {
    if (axis < 0 || axis >= mesh.num_axes())
      return Error(ShardingName(sharding),
                   absl::StrCat("mesh ", MeshName(mesh), " has no axis ", axis));
    if (used[static_cast<size_t>(axis)])
      return Error(ShardingName(sharding), absl::StrCat("uses axis ", axis, " twice"));
    used[static_cast<size_t>(axis)] = true;
    return absl::OkStatus();
  };
  for (const int axis : sharding.dims_mapping) {
    if (axis != kReplicated) RETURN_IF_ERROR(use(axis));
  }
  for (const auto& [axis, type] : sharding.partial) RETURN_IF_ERROR(use(axis));
  return absl::OkStatus();
}

absl::Status CheckSharding(const Sharding& sharding, const Mesh& mesh,
                           absl::Span<const int64_t> sizes) {
  RETURN_IF_ERROR(CheckAxes(sharding, mesh));
  if (sharding.dims_mapping.size() != sizes.size())
    return Error(ShardingName(sharding),
                 absl::StrCat("has ", sharding.dims_mapping.size(),
                              " dimensions, but the tensor has ", sizes.size()));
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int axis = sharding.dims_mapping[i];
    if (axis == kReplicated) continue;
    if (sizes[i] < 0)
      return Error(ShardingName(sharding),
                   absl::StrCat("the size of dimension ", i, " is not known"));
    if (sizes[i] % mesh.size(axis) != 0)
      return Error(ShardingName(sharding),
                   absl::StrCat("axis ", axis, " of mesh ", MeshName(mesh),
                                " does not divide dimension ", i, " of size ", sizes[i]));
  }
  return absl::OkStatus();
}

std::vector<int64_t> LocalSizes(const Sharding& sharding, const Mesh& mesh,
                                absl::Span<const int64_t> sizes) {
  std::vector<int64_t> local(sizes.begin(), sizes.end());
  for (size_t i = 0; i < local.size(); ++i) {
    if (const int axis = sharding.dims_mapping[i]; axis >= 0) local[i] /= mesh.size(axis);
  }
  return local;
}

std::string AnnotationOf(const Mesh& mesh, absl::Span<const Sharding> shardings) {
  return absl::StrJoin(shardings, "; ", [&](std::string* out, const Sharding& sharding) {
    absl::StrAppend(out, MeshName(mesh), ShardingName(sharding));
  });
}

absl::StatusOr<ShardedValue> ParseAnnotation(absl::string_view annotation) {
  ShardedValue value;
  absl::string_view mesh;
  for (const absl::string_view part : absl::StrSplit(annotation, "; ")) {
    const size_t open = part.find('[');
    if (open == absl::string_view::npos) return Error(annotation, "expected MESH[AXIS, …]");
    if (value.shardings.empty()) {
      mesh = part.substr(0, open);
      ASSIGN_OR_RETURN(value.mesh, ParseMesh(mesh));
    } else if (part.substr(0, open) != mesh) {
      return Error(annotation, "has elements over several meshes");
    }
    ASSIGN_OR_RETURN(Sharding sharding, ParseSharding(part.substr(open)));
    RETURN_IF_ERROR(CheckAxes(sharding, value.mesh));
    value.shardings.push_back(std::move(sharding));
  }
  return value;
}

}  // namespace graphnet::spmd

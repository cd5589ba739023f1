#include "graphnet/ops/out_overload.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

// How an overload with `out` is named after the one that makes new tensors: "add.Scalar_out" after
// "add.Scalar", "sum.IntList_out" after "sum.dim_IntList". Other names, such as "out" and "values",
// say nothing.
enum class Likeness { kSame, kEnd, kAny };

bool IsNamedAfter(absl::string_view with_out, absl::string_view overload, Likeness likeness) {
  if (likeness == Likeness::kAny || !absl::ConsumeSuffix(&with_out, "_out")) return true;
  if (likeness == Likeness::kSame) return with_out == overload;
  return absl::EndsWith(overload, absl::StrCat("_", with_out));
}

// Returns the overload with `out` of a call if its other arguments fit `schema`.
std::optional<Schema> WithOut(const Node& node, const Schema& schema) {
  // Keywords that the overload lacks name the tensors.
  std::vector<absl::string_view> outs;
  bool is_fit = true;
  for (const KwArg& kwarg : node.kwargs()) {
    if (schema.FindArgument(kwarg.name) != nullptr) continue;
    is_fit = is_fit && kwarg.value.is_node();
    outs.push_back(kwarg.name);
  }
  const bool misses_any = absl::c_any_of(schema.arguments, [&](const SchemaArgument& argument) {
    const auto i = static_cast<size_t>(&argument - schema.arguments.data());
    if (i < node.args().size()) return argument.keyword_only;
    return !argument.has_default && node.kwarg(argument.name) == nullptr;
  });
  for (size_t i = 0; i < std::min(node.args().size(), schema.arguments.size()); ++i)
    is_fit = is_fit && (!node.args()[i].is_aggregate() || schema.arguments[i].type.is_list);
  const bool makes_tensors = absl::c_all_of(schema.returns, [](const SchemaType& type) {
    return type.kind == SchemaType::Kind::kTensor && !type.is_list;
  });
  if (outs.empty() || outs.size() != schema.returns.size() || !is_fit || !makes_tensors ||
      misses_any || schema.mutates() || node.args().size() > schema.arguments.size()) {
    return std::nullopt;
  }
  Schema made = schema;
  made.target = std::string(absl::StripPrefix(node.target(), "torch.ops."));
  for (const absl::string_view out : outs) {
    SchemaArgument argument;
    argument.name = out;
    argument.type.kind = SchemaType::Kind::kTensor;
    argument.keyword_only = true;
    made.arguments.push_back(argument);
  }
  return made;
}

}  // namespace

std::optional<Schema> OutOverload(const Node& node) {
  const absl::string_view target = absl::StripPrefix(node.target(), "torch.ops.");
  absl::string_view name = target;
  if (!absl::ConsumePrefix(&name, "aten.")) return std::nullopt;
  name = name.substr(0, name.find('.'));
  const absl::string_view with_out = target.substr(target.rfind('.') + 1);
  for (const Likeness likeness : {Likeness::kSame, Likeness::kEnd, Likeness::kAny}) {
    for (const Schema& schema : FindSchemas(name)) {
      if (!IsNamedAfter(with_out, schema.overload, likeness)) continue;
      if (std::optional<Schema> made = WithOut(node, schema)) return made;
    }
  }
  return std::nullopt;
}

}  // namespace graphnet

#include "graphnet/ops/target.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

// Where private names stand, what precedes their last part there, and the public
// modules that have them.
struct Home {
  absl::string_view private_prefix;
  absl::string_view name_prefix;
  absl::string_view public_prefix;
};
constexpr Home kHomes[] = {
    {"torch._C._nn.", "", "torch.nn.functional."},
    {"torch._C._nn.", "", "torch."},
    {"torch._C._linalg.", "linalg_", "torch.linalg."},
    {"torch._C._fft.", "fft_", "torch.fft."},
    {"torch._C._special.", "special_", "torch.special."},
    {"torch._C._sparse.", "_sparse_", "torch.sparse."},
    {"torch._C._VariableFunctions.", "", "torch."},
    {"torch._VF.", "", "torch."},
    {"torch._C.", "_", "torch."},  // torch._C._set_grad_enabled
};

}  // namespace

absl::string_view TargetKindName(TargetKind kind) {
  switch (kind) {
    case TargetKind::kNone: return "none";
    case TargetKind::kFunction: return "function";
    case TargetKind::kMethod: return "method";
    case TargetKind::kOperator: return "operator";
    case TargetKind::kHigherOrder: return "higher-order";
    case TargetKind::kConstructor: return "constructor";
    case TargetKind::kModule: return "module";
  }
  return "";
}

TargetKind KindOfTarget(const Node& node) {
  switch (node.op()) {
    case Op::kCallMethod: return TargetKind::kMethod;
    case Op::kCallModule: return TargetKind::kModule;
    case Op::kCallFunction: break;
    default: return TargetKind::kNone;
  }
  if (absl::c_any_of(node.args(), [](const Argument& a) { return a.is_graph(); }) ||
      absl::c_any_of(node.kwargs(), [](const KwArg& a) { return a.value.is_graph(); })) {
    return TargetKind::kHigherOrder;
  }
  absl::string_view target = node.target();
  if (absl::StartsWith(target, "operator.") || absl::StartsWith(target, "_operator.")) {
    return TargetKind::kOperator;
  }
  if (target == "torch.tensor" || absl::EndsWith(target, "Construct"))
    return TargetKind::kConstructor;
  const Schema* schema = FindOverload(target);
  if (schema == nullptr && absl::ConsumePrefix(&target, "torch.")) {
    const auto schemas = FindSchemas(target);
    if (!schemas.empty()) schema = &schemas[0];
  }
  const bool constructs = schema != nullptr && !schema->returns.empty() &&
                          schema->returns[0].kind == SchemaType::Kind::kTensor &&
                          absl::c_none_of(schema->arguments, [](const SchemaArgument& a) {
                            return a.type.kind == SchemaType::Kind::kTensor;
                          });
  return constructs ? TargetKind::kConstructor : TargetKind::kFunction;
}

bool IsPrivateTarget(absl::string_view target) {
  for (const absl::string_view part : absl::StrSplit(target, '.')) {
    // Not the methods of Python itself, __and__.
    if (absl::StartsWith(part, "_") && !absl::EndsWith(part, "__")) return true;
  }
  return false;
}

std::string StableTarget(absl::string_view target) {
  if (absl::StartsWith(target, "_operator.")) return std::string(target.substr(1));
  if (!IsPrivateTarget(target)) return "";
  for (const Home& home : kHomes) {
    absl::string_view name = target;
    if (!absl::ConsumePrefix(&name, home.private_prefix)) continue;
    if (!absl::ConsumePrefix(&name, home.name_prefix)) continue;
    std::string stable = absl::StrCat(home.public_prefix, name);
    if (IsPublicFunction(stable)) return stable;
  }
  return "";
}

}  // namespace graphnet

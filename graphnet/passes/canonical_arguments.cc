#include "graphnet/passes/canonical_arguments.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

// Where PyTorch's operators stand in Python, and what their names begin with there.
struct Prefix {
  absl::string_view python;
  absl::string_view operator_prefix;
};
constexpr Prefix kPrefixes[] = {
    {"torch.ops.aten.", ""},
    {"aten.", ""},
    {"torch._C._nn.", ""},
    {"torch._C._linalg.", ""},
    {"torch._C._fft.", ""},
    {"torch._C._special.", ""},
    {"torch._C._VariableFunctions.", ""},
    {"torch.nn.functional.", ""},
    {"torch.linalg.", "linalg_"},
    {"torch.fft.", "fft_"},
    {"torch.special.", "special_"},
    {"torch.", ""},
};

// The parameters that may be given by position, in order.
std::vector<absl::string_view> Positional(const Signature& signature) {
  std::vector<absl::string_view> names;
  for (const Parameter& parameter : signature.parameters) {
    if (parameter.keyword_only || parameter.is_variadic) break;
    names.push_back(parameter.name);
  }
  return names;
}
std::vector<absl::string_view> Positional(const Schema& schema) {
  std::vector<absl::string_view> names;
  for (const SchemaArgument& argument : schema.arguments) {
    if (argument.keyword_only) break;
    // Python calls a function's first tensor so.
    names.push_back(names.empty() && argument.name == "self" ? "input" : argument.name);
  }
  return names;
}

// Whether the schema has all keywords of the call, and room for its arguments.
bool MayBe(const Schema& schema, const Node& node) {
  if (node.args().size() > schema.arguments.size()) return false;
  return absl::c_all_of(node.kwargs(), [&](const KwArg& kwarg) {
    return schema.FindArgument(kwarg.name) != nullptr ||
           (kwarg.name == "input" && !schema.arguments.empty() &&
            schema.arguments[0].name == "self");
  });
}

// The overloads that a call may mean; empty when it is no operator under its own name.
std::vector<const Schema*> Overloads(const Node& node) {
  std::vector<const Schema*> found;
  if (const Schema* schema = FindOverload(node.target());
      schema != nullptr && node.op() == Op::kCallFunction) {
    if (MayBe(*schema, node)) found.push_back(schema);
    return found;
  }
  absl::string_view name = node.target();
  std::string op(name);
  if (node.op() == Op::kCallFunction) {
    op.clear();
    for (const Prefix& prefix : kPrefixes) {
      if (!absl::ConsumePrefix(&name, prefix.python)) continue;
      op = absl::StrCat(prefix.operator_prefix, name);
      break;
    }
  }
  for (const Schema& schema : FindSchemas(op)) {
    const bool visible =
        node.op() == Op::kCallMethod ? schema.is_method : schema.function_module != 0;
    if (visible && MayBe(schema, node)) found.push_back(&schema);
  }
  return found;
}

// Functions that take what their operator's schema does not say.
bool TakesOtherArguments(const Node& node) {
  static constexpr absl::string_view kMethods[] = {"to",     "type", "size",  "new_tensor",
                                                   "unique", "norm", "split", "stft"};
  return node.op() == Op::kCallMethod
             ? absl::c_linear_search(kMethods, node.target())
             : absl::c_linear_search(kMethods, absl::StripPrefix(node.target(), "torch."));
}

// The names by position that all readings of the call agree on.
std::vector<absl::string_view> ParametersOf(const Node& node) {
  if (const Signature* signature =
          node.op() == Op::kCallFunction ? FindSignature(node.target()) : nullptr) {
    return Positional(*signature);
  }
  if (TakesOtherArguments(node)) return {};
  std::optional<std::vector<absl::string_view>> common;
  for (const Schema* schema : Overloads(node)) {
    std::vector<absl::string_view> names = Positional(*schema);
    if (!common.has_value()) {
      common = std::move(names);
      continue;
    }
    size_t n = 0;
    while (n < names.size() && n < common->size() && names[n] == (*common)[n]) ++n;
    common->resize(n);
  }
  return common.value_or(std::vector<absl::string_view>());
}

bool MoveKeywords(Node* node) {
  const std::vector<absl::string_view> names = ParametersOf(*node);
  std::vector<Argument> args(node->args().begin(), node->args().end());
  std::vector<KwArg> kwargs(node->kwargs().begin(), node->kwargs().end());
  while (args.size() < names.size()) {
    const absl::string_view name = names[args.size()];
    const auto it = absl::c_find_if(kwargs, [&](const KwArg& kwarg) { return kwarg.name == name; });
    if (it == kwargs.end()) break;
    args.push_back(it->value);
    kwargs.erase(it);
  }
  if (kwargs.size() == node->kwargs().size()) return false;
  node->set_kwargs(kwargs);
  node->set_args(args);
  return true;
}

}  // namespace

absl::StatusOr<bool> CanonicalizeArguments(Module* module, PassRun& run) {
  size_t changed = 0;
  for (Graph* graph : module->graphs()) {
    for (Node* node : graph->nodes()) {
      if (!node->kwargs().empty() &&
          (node->op() == Op::kCallFunction || node->op() == Op::kCallMethod)) {
        changed += MoveKeywords(node) ? 1 : 0;
      }
    }
  }
  if (changed > 0) run.Note("calls with keywords moved to their position", changed);
  return changed > 0;
}

}  // namespace graphnet

#include "graphnet/passes/autocast.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/check.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

// Returns the operator, without overload, that a call runs; `name` is what it calls.
absl::string_view OperatorOf(const Node& call, absl::string_view name) {
  if (name != "pad") return name;
  const Schema* const schema = FindOverload(call.target());
  const Argument* const mode = schema == nullptr ? nullptr : schema->Given(call, "mode");
  const bool is_constant = mode == nullptr || (mode->is_string() && mode->string() == "constant");
  return is_constant ? "constant_pad_nd" : name;
}

bool MayYieldTensors(const Schema& schema) {
  return absl::c_any_of(schema.returns, [](const SchemaType& type) {
    return type.kind == SchemaType::Kind::kTensor || type.kind == SchemaType::Kind::kAny;
  });
}

// Looks up a row of autocast.txt.
AutocastRule RuleOfOperator(absl::string_view device, absl::string_view name) {
  // Rows are "<device> <rule> <operator>…".
  static const auto* const rows = [] {
    auto* made =
        new absl::flat_hash_map<std::pair<absl::string_view, absl::string_view>, AutocastRule>();
    for (const absl::string_view line : absl::StrSplit(AutocastText(), '\n')) {
      if (line.empty() || line[0] == '#') continue;
      const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
      CHECK(words.size() > 2);
      const AutocastRule rule = words[1] == "lower"     ? AutocastRule::kLower
                                : words[1] == "float32" ? AutocastRule::kFloat32
                                                        : AutocastRule::kAny;
      for (size_t i = 2; i < words.size(); ++i) (*made)[{words[0], words[i]}] = rule;
    }
    return made;
  }();
  const auto row = rows->find({device == "cpu" ? "cpu" : "other", name});
  return row == rows->end() ? AutocastRule::kNone : row->second;
}

}  // namespace

AutocastRule AutocastRuleOf(absl::string_view device, const Node& call) {
  const Callable callee = CalleeOf(call);
  switch (callee.kind) {
    case Callable::Kind::kOperator: return RuleOfOperator(device, OperatorOf(call, callee.name));
    case Callable::Kind::kPythonOperator: return AutocastRule::kNone;
    default: break;
  }
  if (call.HasBody()) return AutocastRule::kNone;
  const bool yields_none =
      callee.kind == Callable::Kind::kFunction &&
      (!MayYieldTensors(callee.overloads[0]) || callee.is_function("builtins.getattr"));
  return yields_none ? AutocastRule::kNone : AutocastRule::kAny;
}

AutocastState AutocastMode::Under(AutocastState around) const {
  if (dtype.has_value()) {
    around[device] = *dtype;
  } else {
    around.erase(device);
  }
  return around;
}

std::optional<AutocastMode> AutocastModeOf(absl::Span<const Argument> args) {
  const auto given = [&](size_t i) { return i < args.size() ? args[i] : Argument(); };
  const Argument dtype = given(1), enabled = given(2);
  if (!given(0).is_string() || !(enabled.is_none() || enabled.is_bool())) return std::nullopt;
  // PyTorch knows no other devices, so that a program has few.
  if (!ParseDeviceType(given(0).string()).has_value()) return std::nullopt;
  AutocastMode mode = {.device = std::string(given(0).string()), .dtype = {}};
  if (enabled.is_bool() && !enabled.boolean()) return mode;
  if (dtype.kind() == Argument::Kind::kDType) {
    mode.dtype = dtype.dtype();
  } else if (!dtype.is_none()) {
    return std::nullopt;
  } else {
    mode.dtype = mode.device == "cpu" ? DType::kBFloat16 : DType::kFloat16;
  }
  return mode;
}

Schema::Bracket BracketOf(const Node& node) {
  return node.is_call() ? CalleeOf(node).bracket() : Schema::Bracket::kNone;
}

void AddBracketPairs(const Graph& graph, BracketPairs* pairs) {
  std::vector<const Node*> open;
  for (const Node* node : graph.nodes()) {
    const Schema::Bracket bracket = BracketOf(*node);
    if (bracket == Schema::Bracket::kAutocastOpen) open.push_back(node);
    if (bracket != Schema::Bracket::kAutocastClose || open.empty()) continue;
    (*pairs)[open.back()] = node;
    open.pop_back();
  }
}

const Node* CloseOf(const Node& open, const BracketPairs& pairs) {
  const auto found = pairs.find(&open);
  if (found == pairs.end()) return nullptr;
  const Node& close = *found->second;
  const bool is_its = !close.has_uses() && close.args().size() == 1 &&
                      close.args()[0] == Argument(const_cast<Node*>(&open)) && open.num_uses() == 1;
  return is_its ? &close : nullptr;
}

std::optional<RegionForm> RegionFormOf(const Node& node) {
  if (node.op() != Op::kCallFunction) return std::nullopt;
  const std::optional<RegionForm> form = RegionFormOf(node.target());
  if (!form.has_value() || !node.kwargs().empty() || node.args().size() < form->operands ||
      !node.args()[form->body].is_graph()) {
    return std::nullopt;
  }
  return form;
}

}  // namespace graphnet

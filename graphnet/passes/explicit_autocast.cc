#include "graphnet/passes/explicit_autocast.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/module.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/region_call.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/autocast.h"
#include "graphnet/passes/explicit_operators.h"
#include "graphnet/passes/pass.h"

namespace graphnet {
namespace {

using Bracket = Schema::Bracket;

// A cast to write before a call, for all uses of the operand in it.
struct OperandCast {
  Node* node = nullptr;
  Node* operand = nullptr;
  DType dtype = DType::kUnknown;
};

// Returns whether autocast casts tensors of a dtype.
bool MayCast(DType dtype) { return IsFloatingPoint(dtype) && dtype != DType::kFloat64; }

// Finds all changes before anything is changed. Autocast changes the dtype of a value, but neither
// whether it is a floating-point tensor nor whether it is of float64, so that facts which know
// nothing of autocast tell which operands it casts.
class AutocastCasts {
 public:
  AutocastCasts(Module* module, const LoweredModule& lowered, const RefusedCalls& refused)
      : module_(*module), lowered_(lowered), refused_(refused), facts_(lowered, refused) {
    for (const Graph* graph : lowered.module->graphs()) {
      for (const Node* node : graph->nodes()) {
        if (node->is_call()) calls_[lowered.origins[node]].push_back(node);
      }
    }
    FindDevice();
  }

  // Returns why the casts cannot be written; empty if they can.
  const std::string& Find() {
    Visit(module_.main(), {});
    return why_;
  }

  // Returns whether anything changed.
  bool Make() {
    for (const OperandCast& made : casts_) {
      const Argument cast = CastBefore(made.node, made.operand, made.dtype);
      made.node->MapArguments(
          [&](const Argument& a) { return a.is_node() && a.node() == made.operand ? cast : a; });
    }
    for (Node* region : regions_) region->set_arg(2, false);
    return !regions_.empty();
  }

 private:
  // Finds the device that all inputs and attributes are on.
  void FindDevice() {
    bool is_first = true;
    const auto look = [&](const TensorMeta* meta) {
      if (meta == nullptr) return;
      const std::optional<DeviceType> type =
          meta->has_device ? std::optional(meta->device.type) : std::nullopt;
      device_ = is_first || device_ == type ? type : std::nullopt;
      is_first = false;
    };
    for (const Node* input : module_.main()->placeholders()) look(input->tensor_meta());
    for (const Attribute& attribute : module_.attributes()) look(attribute.meta);
  }

  void Fail(std::string why) {
    if (why_.empty()) why_ = std::move(why);
  }

  void Visit(Graph* graph, const AutocastState& outer) {
    if (!why_.empty()) return;
    const auto [known, is_new] = visited_.insert({graph, outer});
    if (!is_new) {
      if (known->second != outer)
        Fail(absl::StrCat("@", graph->name(), " runs under several settings of autocast"));
      return;
    }
    BracketPairs pairs;
    AddBracketPairs(*graph, &pairs);
    std::vector<AutocastState> around;  // the states outside of the open regions
    AutocastState state = outer;
    for (Node* node : graph->nodes()) {
      if (node->op() == Op::kCallModule && !state.empty())
        return Fail(absl::StrCat("nothing is known of the module ", node->target()));
      if (!node->is_call()) continue;
      const Bracket bracket = BracketOf(*node);
      if (bracket == Bracket::kAutocastOpen) {
        if (CloseOf(*node, pairs) == nullptr)
          return Fail("autocast is not closed where it is opened");
        around.push_back(state);
        state = Enter(node, node->args(), state);
        continue;
      }
      if (bracket == Bracket::kAutocastClose) {
        if (around.empty()) return Fail("autocast is closed where it is not open");
        state = around.back();
        around.pop_back();
        continue;
      }
      const std::optional<RegionForm> form = RegionFormOf(*node);
      AutocastState inner = state;
      if (form.has_value() && form->mode == RegionForm::Mode::kAutocast)
        inner = Enter(node, node->args().first(form->body), state);
      node->ForEachArgument([&](const Argument& a) {
        if (a.is_graph()) Visit(a.graph(), inner);
      });
      if (!form.has_value() && !node->HasBody()) LookAt(node, state);
    }
  }

  // Returns the state inside a region, whose settings are the first of its arguments.
  AutocastState Enter(Node* region, absl::Span<const Argument> settings,
                      const AutocastState& state) {
    const std::optional<AutocastMode> mode = AutocastModeOf(settings);
    if (!mode.has_value()) {
      Fail("whether autocast is on is not known");
      return state;
    }
    if (mode->dtype.has_value()) {
      if (settings.size() < 3) Fail("a region of autocast leaves out whether it is on");
      if (*mode->dtype != DType::kBFloat16 && *mode->dtype != DType::kFloat16)
        Fail(absl::StrCat("autocast to ", DTypeName(*mode->dtype)));
      regions_.push_back(region);
    }
    return mode->Under(state);
  }

  // Finds the casts of the operands of a call.
  void LookAt(Node* node, const AutocastState& state) {
    if (absl::StrContains(node->target(), "autocast"))
      return Fail(absl::StrCat(node->target(), " asks for the settings of autocast"));
    const auto calls = calls_.find(node);
    if (calls == calls_.end()) return;
    for (const auto& [device, dtype] : state) {
      for (const Node* call : calls->second) {
        const AutocastRule rule = AutocastRuleOf(device, *call);
        if (rule == AutocastRule::kNone) continue;
        Cast(node, *call, calls->second.size(), device, rule,
             rule == AutocastRule::kLower ? dtype : DType::kFloat32);
      }
    }
  }

  // Finds the casts for `call`, one of the `number` of operators that `node` is lowered to. `dtype`
  // is what autocast casts to under the rule.
  void Cast(Node* node, const Node& call, size_t number, absl::string_view device,
            AutocastRule rule, DType dtype) {
    const Schema* const schema = refused_.contains(node) ? nullptr : FindOverload(call.target());
    const std::vector<Node*> operands = CastOperands(node, call, schema, device);
    if (operands.empty() || !why_.empty()) return;
    if (rule == AutocastRule::kAny || schema == nullptr)
      return Fail(absl::StrCat("nothing is known of how autocast computes ", node->target()));
    if (schema->mutates()) return Fail(absl::StrCat(node->target(), " writes to memory"));
    if (number != 1) return Fail(absl::StrCat(node->target(), " stands for several operators"));
    if (rule == AutocastRule::kFloat32) {
      const Argument* const given = schema->Given(call, "dtype");
      if (given != nullptr && !given->is_none()) return;
    }
    for (Node* const operand : operands) {
      const TensorMeta* const meta = operand->tensor_meta();
      const auto yields = yields_.find(operand);
      const bool has_it = (meta != nullptr && meta->dtype == dtype) ||
                          (yields != yields_.end() && yields->second == dtype);
      if (!has_it) casts_.push_back({node, operand, dtype});
    }
    if (!schema->yields_tuple()) yields_[node] = dtype;
  }

  // Returns the operands that autocast casts on the device: of a call whose schema is known, the
  // tensors among its arguments.
  std::vector<Node*> CastOperands(Node* node, const Node& call, const Schema* schema,
                                  absl::string_view device) {
    absl::flat_hash_set<const Node*> tensors;
    for (size_t i = 0; schema != nullptr && i < schema->arguments.size(); ++i) {
      const Argument* const given = schema->Given(call, i);
      if (given == nullptr || schema->arguments[i].type.kind != SchemaType::Kind::kTensor) continue;
      const bool is_list = given->is_list() || given->is_tuple();
      for (const Argument& tensor : is_list ? given->elements() : absl::MakeConstSpan(given, 1)) {
        if (tensor.is_node()) tensors.insert(tensor.node());
      }
    }
    std::vector<Node*> operands;
    absl::flat_hash_set<const Node*> seen, found;  // operands, and what they are lowered to
    node->ForEachOperand([&](Node* operand) {
      const Argument& lowered = lowered_.values[operand];
      if (!lowered.is_node() || !seen.insert(operand).second) return;
      if (schema != nullptr && !tensors.contains(lowered.node())) return;
      found.insert(lowered.node());
      if (IsCast(*operand, *lowered.node(), device)) operands.push_back(operand);
    });
    // Operators that are called before this one may have made other tensors.
    for (const Node* const tensor : tensors) {
      if (found.contains(tensor)) continue;
      const DType dtype = FactsOf(*tensor).dtype;
      if (dtype == DType::kUnknown || MayCast(dtype))
        Fail(absl::StrCat(node->target(), " stands for several operators"));
    }
    return operands;
  }

  TensorFacts FactsOf(const Node& lowered) const {
    return facts_.IsAmbiguous(lowered.graph()) ? TensorFacts() : facts_.Of(&lowered);
  }

  // Returns whether autocast casts a tensor on the device. Fails if it is not known.
  bool IsCast(const Node& operand, const Node& lowered, absl::string_view device) {
    TensorFacts facts = FactsOfMeta(operand.tensor_meta());
    if (facts.dtype == DType::kUnknown) facts = FactsOf(lowered);
    if (facts.dtype == DType::kUnknown) {
      Fail(absl::StrCat("the dtype of %", operand.name(), " is not known"));
      return false;
    }
    if (!MayCast(facts.dtype)) return false;
    std::optional<DeviceType> type = device_;
    if (facts.device.has_value()) type = facts.device->type;
    if (!type.has_value()) {
      Fail(absl::StrCat("the device of %", operand.name(), " is not known"));
      return false;
    }
    return DeviceTypeName(*type) == device;
  }

  const Module& module_;
  const LoweredModule& lowered_;
  const RefusedCalls& refused_;
  const FactsTable facts_;
  absl::flat_hash_map<const Node*, std::vector<const Node*>> calls_;  // what a call is lowered to
  std::optional<DeviceType> device_;
  absl::flat_hash_map<const Graph*, AutocastState> visited_;
  std::vector<OperandCast> casts_;                  // in order of the program
  absl::flat_hash_map<const Node*, DType> yields_;  // what calls that are cast yield
  std::vector<Node*> regions_;                      // regions in which autocast is on
  std::string why_;
};

bool HasAutocast(const Module& module) {
  return absl::c_any_of(module.graphs(), [](const Graph* graph) {
    return absl::c_any_of(graph->nodes(), [](const Node* node) {
      const std::optional<RegionForm> form = RegionFormOf(*node);
      return (form.has_value() && form->mode == RegionForm::Mode::kAutocast) ||
             BracketOf(*node) == Bracket::kAutocastOpen;
    });
  });
}

}  // namespace

absl::StatusOr<bool> ExplicitAutocast(Module* module, PassRun& run) {
  if (module->main() == nullptr || !HasAutocast(*module)) return false;
  RefusedCalls refused;
  ASSIGN_OR_RETURN(const LoweredModule lowered, LowerToAten(*module, &refused));
  AutocastCasts casts(module, lowered, refused);
  if (const std::string& why = casts.Find(); !why.empty()) {
    run.Note(absl::StrCat("autocast stays: ", why));
    return false;
  }
  return casts.Make();
}

namespace {

const RegisteredPass kExplicitAutocastPass("explicit-autocast", "explicit_autocast.h",
                                           ExplicitAutocast);

}  // namespace

}  // namespace graphnet

#include "graphnet/passes/stabilize.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/ir/outline.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/check_stable.h"
#include "graphnet/passes/pass.h"

namespace graphnet {
namespace {

// --- Gradient modes --------------------------------------------------------------

bool SetsGradientMode(const Node& node) {
  return (node.is_call_function("torch._C._set_grad_enabled") ||
          node.is_call_function("torch.set_grad_enabled")) &&
         node.args().size() == 1 && node.args()[0].is_bool() && node.kwargs().empty();
}

bool IsFloating(const Node& node) {
  const TensorMeta* meta = node.tensor_meta();
  return meta == nullptr || meta->dtype == DType::kUnknown || IsFloatingPoint(meta->dtype) ||
         meta->dtype == DType::kComplex64 || meta->dtype == DType::kComplex128;
}

// Returns whether the annotation excludes a parameter: dynamo annotates all others as torch.Tensor.
bool IsPlain(absl::string_view annotation) {
  return !annotation.empty() && !absl::StrContains(annotation, "Parameter");
}

// Erases the calls that set the gradient mode to a constant and after which, up to the next
// one, no call runs that might record a gradient or ask for the mode: one with an operand
// that is, or was made from, a parameter or a value of unknown origin, one with bodies, or
// one named after gradients. A graph starts with gradients enabled, and the mode that it
// leaves behind stays. O(nodes).
class GradientModes {
 public:
  explicit GradientModes(Graph* graph) : graph_(graph) {}

  // Returns how many were erased.
  size_t Erase() {
    std::vector<Node*> setters;
    for (Node* node : graph_->nodes()) {
      if (SetsGradientMode(*node)) setters.push_back(node);
    }
    if (setters.empty()) return 0;
    size_t erased = 0;
    bool mode = true;  // the mode after the calls that were kept so far
    for (Node* setter : setters) {
      const bool wanted = setter->args()[0].boolean();
      if (!setter->has_uses() && (wanted == mode || !Matters(setter))) {
        graph_->EraseNode(setter);
        ++erased;
      } else {
        mode = wanted;
      }
    }
    return erased;
  }

 private:
  // Returns whether a call between `setter` and the next one might depend on the mode.
  bool Matters(const Node* setter) {
    for (Node* node = setter->next(); node != nullptr && !SetsGradientMode(*node);
         node = node->next()) {
      if (SeesMode(*node)) return true;
      // The mode that a graph leaves behind is seen by its caller.
      if (node->is_output()) return true;
    }
    return false;
  }

  bool SeesMode(const Node& node) {
    if (!node.is_call()) return false;
    if (node.op() == Op::kCallModule) return true;
    if (absl::StrContains(node.target(), "grad")) return true;
    if (node.HasBody()) return true;
    bool sees = false;
    node.ForEachOperand([&](const Node* operand) { sees |= MayWantGradient(operand); });
    return sees;
  }

  // Computed once for all nodes in program order, so that operands come first.
  bool MayWantGradient(const Node* value) {
    if (!analysed_) {
      analysed_ = true;
      for (const Node* node : graph_->nodes()) {
        if (!IsFloating(*node)) continue;
        bool wants = false;
        if (node->is_placeholder()) {
          wants = graph_ != graph_->module()->main() || !IsPlain(node->annotation());
        } else if (node->op() == Op::kGetAttr) {
          const Attribute* attribute = graph_->module()->FindAttribute(node->target());
          wants = attribute == nullptr || !IsPlain(attribute->annotation);
        } else {
          node->ForEachOperand([&](const Node* operand) { wants |= wants_.contains(operand); });
          // requires_grad = True
          const Argument* asked = node->kwarg("requires_grad");
          wants |= (asked != nullptr && !(asked->is_bool() && !asked->boolean())) ||
                   absl::StrContains(node->target(), "requires_grad");
        }
        if (!wants) continue;
        wants_.insert(node);
        // A write of such a value affects everything that shares the memory.
        all_want_ |= node->is_call() && !MemoryUseOf(*node).written.empty();
      }
    }
    return wants_.contains(value) || (all_want_ && IsFloating(*value));
  }

  Graph* const graph_;
  bool analysed_ = false;
  bool all_want_ = false;
  absl::flat_hash_set<const Node*> wants_;
};

// --- Stable calls -----------------------------------------------------------------

// How a form of a call changes.
enum class Change {
  kNone,    // no public call does the same
  kTarget,  // only the target
  kNamed,   // arguments by the names of the public function
};

// Appends the parts of an argument that decide a call's meaning: its shape and all constants.
void AppendForm(const Argument& argument, std::string* out) {
  if (argument.is_node()) {
    const Node* node = argument.node();
    absl::StrAppend(out, "%", node->is_placeholder() ? node->annotation() : "");
  } else if (argument.is_aggregate()) {
    out->push_back(argument.is_tuple() ? '(' : argument.is_list() ? '[' : '{');
    for (const Argument& element : argument.elements()) {
      AppendForm(element, out);
      out->push_back(',');
    }
    out->push_back(')');
  } else {
    AppendArgument(argument, out);
  }
}

class Stabilizer {
 public:
  Stabilizer(Module* module, std::vector<std::string> allowed)
      : module_(module), allowed_(std::move(allowed)) {}

  bool Run(PassRun& run) {
    bool changed = DropGradientModes();
    for (Graph* graph : module_->graphs()) {
      for (Node* node : graph->nodes()) {
        if (node->op() == Op::kCallFunction) changed |= Visit(node);
      }
    }
    for (const auto& [what, count] : counts_) run.Note(what, count);
    return changed;
  }

 private:
  bool DropGradientModes() {
    if (IsNamed("torch._C._set_grad_enabled", allowed_)) return false;
    size_t erased = 0;
    for (Graph* graph : module_->graphs()) erased += GradientModes(graph).Erase();
    if (erased > 0)
      counts_["changes of the gradient mode dropped: no gradient is recorded there"] += erased;
    return erased > 0;
  }

  bool Visit(Node* node) {
    // Targets are interned, so each name is looked up once.
    const auto [it, is_new] = stable_.try_emplace(node->target().data());
    if (is_new && !IsNamed(node->target(), allowed_)) it->second = StableTarget(node->target());
    if (it->second.empty()) {
      if (node->target() != "torch._C._log_api_usage_once" || IsNamed(node->target(), allowed_))
        return false;
      ++counts_[absl::StrCat(node->target(), " dropped")];
      ReplaceUsesWithValue(node, Argument());
      node->graph()->EraseNode(node);
      return true;
    }
    const std::string& stable = it->second;
    std::string form(node->target());
    for (const Argument& argument : node->args()) {
      form.push_back(',');
      AppendForm(argument, &form);
    }
    for (const KwArg& kwarg : node->kwargs()) {
      absl::StrAppend(&form, ",", kwarg.name, "=");
      AppendForm(kwarg.value, &form);
    }
    const auto [change, unknown] = changes_.try_emplace(std::move(form), Change::kNone);
    if (unknown) change->second = Choose(*node, stable);
    if (change->second == Change::kNone) return false;
    ++counts_[absl::StrCat(node->target(), " to ", stable)];
    if (change->second == Change::kNamed) {
      const std::vector<KwArg> kwargs = *ByName(*node, stable);
      node->set_args({});
      node->set_kwargs(kwargs);
    }
    node->set_target(stable);
    return true;
  }

  static Change Choose(const Node& node, absl::string_view stable) {
    if (KindOfTarget(node) == TargetKind::kHigherOrder) return Change::kNone;
    if (IsSameOperator(node, stable, node.args(), node.kwargs())) return Change::kTarget;
    const std::optional<std::vector<KwArg>> kwargs = ByName(node, stable);
    if (kwargs.has_value() && IsSameOperator(node, stable, {}, *kwargs)) return Change::kNamed;
    return Change::kNone;
  }

  // Returns the arguments under the names of the public function's parameters; nullopt if it lacks
  // one.
  static std::optional<std::vector<KwArg>> ByName(const Node& node, absl::string_view stable) {
    const Callable from = CalleeOf(node);
    const Callable to = FindCallable(Op::kCallFunction, stable);
    if (from.kind != Callable::Kind::kOperator || to.kind != Callable::Kind::kFunction) {
      return std::nullopt;
    }
    const Schema& schema = from.overloads[0];
    const Schema& function = to.overloads[0];
    std::vector<KwArg> kwargs;
    const auto add = [&](absl::string_view parameter, Argument value) {
      if (!function.arguments.empty() && (parameter == "self" || parameter == "input")) {
        parameter = function.arguments[0].name;
      }
      const SchemaArgument* argument = function.FindArgument(parameter);
      if (argument == nullptr) return false;
      // ATen's number of a reduction has a name in Python.
      if (parameter == "reduction" && value.is_int() && !argument->words.empty()) {
        constexpr const char* kReductions[] = {"none", "mean", "sum"};
        if (value.integer() < 0 || value.integer() > 2) return false;
        value = kReductions[value.integer()];
      }
      kwargs.push_back({argument->name, value});
      return true;
    };
    if (node.args().size() > schema.arguments.size()) return std::nullopt;
    for (size_t i = 0; i < node.args().size(); ++i) {
      if (!add(schema.arguments[i].name, node.args()[i])) return std::nullopt;
    }
    for (const KwArg& kwarg : node.kwargs()) {
      if (!add(kwarg.name, kwarg.value)) return std::nullopt;
    }
    // Private functions default to no reduction (ops/lowering.cc), public ones to a mean.
    if (schema.IndexOf("reduction") >= 0 &&
        absl::c_none_of(kwargs, [](const KwArg& kwarg) { return kwarg.name == "reduction"; }) &&
        !add("reduction", 0)) {
      return std::nullopt;
    }
    // For an operator that also yields indices, ask the public function for them.
    if (schema.returns.size() > 1 && !add("return_indices", true)) return std::nullopt;
    return kwargs;
  }

  // Returns whether both calls, on the same values, lower to the same operators of ATen.
  static bool IsSameOperator(const Node& node, absl::string_view stable,
                             absl::Span<const Argument> args, absl::Span<const KwArg> kwargs) {
    Module module;
    Graph* graph = module.AddGraph("forward");
    absl::flat_hash_map<const Node*, Node*> made;
    node.ForEachOperand([&](const Node* operand) {
      Node*& placeholder = made[operand];
      if (placeholder != nullptr) return;
      placeholder = graph->Placeholder(operand->name(), operand->name());
      if (operand->is_placeholder()) placeholder->set_annotation(operand->annotation());
    });
    const auto map = [&](Node* operand) { return made.at(operand); };
    Node* before = graph->CopyNodeFrom(node, map);
    // Make the same call on the new values, then with the other target and arguments.
    Node* after = graph->CopyNodeFrom(node, map);
    if (args.empty() && !node.args().empty()) {
      std::vector<KwArg> mapped;
      for (const KwArg& kwarg : kwargs) {
        if (kwarg.value.is_aggregate() && HasNodes(kwarg.value)) return false;
        mapped.push_back(
            {kwarg.name, kwarg.value.is_node() ? Argument(map(kwarg.value.node())) : kwarg.value});
      }
      after->set_args({});
      after->set_kwargs(mapped);
    }
    after->set_target(stable);
    graph->Output(Argument::Tuple({before, after}));
    RefusedCalls refused;
    const absl::StatusOr<LoweredModule> lowered = LowerToAten(module, &refused);
    if (!lowered.ok() || !refused.empty()) return false;
    std::vector<const Node*> calls[2];
    for (const Node* call : lowered->module->main()->nodes()) {
      if (!call->is_call()) continue;
      calls[lowered->origins[call] == after].push_back(call);
    }
    if (calls[0].size() != calls[1].size()) return false;
    absl::flat_hash_map<const Node*, const Node*> same;
    for (size_t i = 0; i < calls[0].size(); ++i) {
      if (!IsSameCall(*calls[0][i], *calls[1][i], same)) return false;
      same[calls[0][i]] = calls[1][i];
    }
    return IsSame(lowered->values[before], lowered->values[after], same);
  }

  using Same = absl::flat_hash_map<const Node*, const Node*>;
  static bool IsSame(const Argument& a, const Argument& b, const Same& same) {
    if (a.kind() != b.kind()) return false;
    if (a.is_node()) {
      const auto it = same.find(a.node());
      return (it == same.end() ? a.node() : it->second) == b.node();
    }
    if (!a.is_aggregate()) return a == b;
    return absl::c_equal(a.elements(), b.elements(),
                         [&](const Argument& x, const Argument& y) { return IsSame(x, y, same); });
  }
  static bool IsSameCall(const Node& a, const Node& b, const Same& same) {
    if (const Schema* schema = FindOverload(a.target());
        schema != nullptr && a.target() == b.target()) {
      // One of the two calls may write a default out.
      for (size_t i = 0; i < schema->arguments.size(); ++i) {
        const SchemaArgument& argument = schema->arguments[i];
        const Argument* x = schema->Given(a, i);
        const Argument* y = schema->Given(b, i);
        if (x == nullptr && y == nullptr) continue;
        if (x != nullptr && y != nullptr ? !IsSame(*x, *y, same)
                                         : !argument.IsDefault(x != nullptr ? *x : *y)) {
          return false;
        }
      }
      return true;
    }
    return a.target() == b.target() &&
           IsSame(Argument::Tuple(a.args()), Argument::Tuple(b.args()), same) &&
           absl::c_equal(a.kwargs(), b.kwargs(), [&](const KwArg& x, const KwArg& y) {
             return x.name == y.name && IsSame(x.value, y.value, same);
           });
  }
  static bool HasNodes(const Argument& argument) {
    bool has = false;
    ForEachArgument(argument, [&](const Argument& a) { has |= a.is_node(); });
    return has;
  }

  Module* const module_;
  const std::vector<std::string> allowed_;
  // By the address of the interned target; an empty name means that the call stays.
  absl::flat_hash_map<const char*, std::string> stable_;
  absl::flat_hash_map<std::string, Change> changes_;
  std::map<std::string, size_t> counts_;
};

}  // namespace

absl::StatusOr<bool> Stabilize(Module* module, PassRun& run) {
  return Stabilizer(module, run.list("allow")).Run(run);
}

namespace {

const RegisteredPass kStabilizePass("stabilize", "stabilize.h", Stabilize, {"allow"});

}  // namespace

}  // namespace graphnet

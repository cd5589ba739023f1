#include "graphnet/passes/inline_regions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/check.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/outline.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/out_overload.h"
#include "graphnet/ops/region_call.h"
#include "graphnet/passes/autocast.h"
#include "graphnet/passes/pass.h"

namespace graphnet {
namespace {

using Bracket = Schema::Bracket;

// --- What autocast does -------------------------------------------------------------

// Returns whether the value may hold a tensor that autocast casts on `device`.
bool MayBeCast(const ValueMeta* meta, absl::string_view device) {
  if (meta == nullptr) return true;
  if (meta->is_tuple) {
    return absl::c_any_of(meta->elements,
                          [&](const ValueMeta* element) { return MayBeCast(element, device); });
  }
  const TensorMeta* const tensor = meta->tensor;
  if (tensor == nullptr || tensor->dtype == DType::kUnknown) return true;
  if (!IsFloatingPoint(tensor->dtype) || tensor->dtype == DType::kFloat64) return false;
  return !tensor->has_device || DeviceTypeName(tensor->device.type) == device;
}

// Finds the calls whose values depend on autocast.
class AutocastUse {
 public:
  explicit AutocastUse(const Module& module) : module_(module) {
    for (const Graph* graph : module.graphs()) AddBracketPairs(*graph, &pairs_);
  }

  // The brackets of all graphs.
  const BracketPairs& pairs() const { return pairs_; }

  // Returns the first call behind `open`, before `close`, whose value depends on the autocast settings
  // for `device` around it; null if there is none. `close` is null if nothing closes the region.
  const Node* FindIn(const Node& open, const Node* close, const std::string& device) {
    const Node* const use = FirstUse(open.next(), device);
    return use != nullptr && (close == nullptr || use->IsBefore(close)) ? use : nullptr;
  }
  const Node* FindIn(const Graph& graph, const std::string& device) {
    const auto [it, is_new] = found_.insert({{&graph, device}, nullptr});
    if (!is_new) return it->second;
    const Node* const use = FirstUse(graph.first(), device);
    found_[{&graph, device}] = use;
    return use;
  }

 private:
  // Returns the first call from `first` on that depends on the settings for `device` and lies in no
  // region that sets them itself. Each node is visited once for a device.
  const Node* FirstUse(const Node* first, const std::string& device) {
    std::vector<const Node*> visited;
    const Node* use = nullptr;
    for (const Node* node = first; node != nullptr;) {
      const auto& known = first_use_[device];
      if (const auto found = known.find(node); found != known.end()) {
        use = found->second;
        break;
      }
      visited.push_back(node);
      const Bracket bracket = BracketOf(*node);
      const Node* next = node->next();
      if (bracket == Bracket::kAutocastOpen) {
        const auto mode = AutocastModeOf(node->args());
        if (!mode.has_value()) use = node;
        if (mode.has_value() && mode->device == device) {
          const auto close = pairs_.find(node);
          next = close == pairs_.end() ? nullptr : close->second->next();
        }
      } else if (bracket != Bracket::kAutocastClose) {
        use = FindAt(*node, device);
      }
      if (use != nullptr) break;
      node = next;
    }
    for (const Node* node : visited) first_use_[device][node] = use;
    return use;
  }
  const Node* FindAt(const Node& node, const std::string& device) {
    if (node.op() == Op::kCallModule) return &node;
    if (!node.is_call()) return nullptr;
    const std::optional<RegionForm> form = RegionFormOf(node.target());
    if (form.has_value() && form->mode == RegionForm::Mode::kAutocast) {
      const auto mode = AutocastModeOf(node.args().first(std::min(form->body, node.args().size())));
      if (!mode.has_value()) return &node;
      if (mode->device == device) return nullptr;
    }
    const Node* use = nullptr;
    node.ForEachArgument([&](const Argument& a) {
      if (use == nullptr && a.is_graph()) use = FindIn(*a.graph(), device);
    });
    if (use == nullptr && Depends(node, device)) use = &node;
    return use;
  }

  // Looks at the node itself, not at its bodies.
  bool Depends(const Node& node, const std::string& device) {
    if (absl::StrContains(node.target(), "autocast")) return !RegionFormOf(node.target());
    bool may_be_cast = false;
    node.ForEachOperand(
        [&](const Node* operand) { may_be_cast |= MayBeCast(operand->meta(), device); });
    if (!may_be_cast) return false;
    if (!lowered_.has_value()) Lower();
    if (refused_.contains(&node)) return true;
    const auto calls = calls_.find(&node);
    return calls != calls_.end() && absl::c_any_of(calls->second, [&](const Node* call) {
             return AutocastRuleOf(device, *call) != AutocastRule::kNone;
           });
  }

  void Lower() {
    // Cannot fail, since refused calls are collected.
    lowered_ = *LowerToAten(module_, &refused_);
    for (const Graph* graph : lowered_->module->graphs()) {
      for (const Node* node : graph->nodes()) {
        if (node->is_call()) calls_[lowered_->origins[node]].push_back(node);
      }
    }
  }

  const Module& module_;
  std::optional<LoweredModule> lowered_;
  RefusedCalls refused_;
  absl::flat_hash_map<const Node*, std::vector<const Node*>>
      calls_;  // by the call that they were lowered from
  absl::flat_hash_map<std::pair<const Graph*, std::string>, const Node*> found_;
  // The results of FirstUse, by the device.
  std::map<std::string, absl::flat_hash_map<const Node*, const Node*>> first_use_;
  BracketPairs pairs_;  // those of all graphs
};

// --- Gradients ----------------------------------------------------------------------

bool IsGradientModeCall(const Node& node) {
  return node.is_call_function("torch._C._set_grad_enabled") ||
         node.is_call_function("torch.set_grad_enabled");
}

// Returns whether the call asks for gradients, for whether gradients are recorded, or for the mode.
bool AsksForGradients(const Node& node) {
  if (!node.is_call() || IsGradientModeCall(node)) return false;
  const absl::string_view target = node.target();
  if (RegionFormOf(target).has_value()) return false;
  if (node.is_call_function("torch.autograd.function.FunctionCtx") ||
      absl::StartsWith(target, "torch.autograd.grad_mode.")) {
    return false;
  }
  if (target == "backward" || absl::StartsWith(target, "torch.autograd.") ||
      absl::StartsWith(target, "aten._backward")) {
    return true;
  }
  if (target == "builtins.getattr" && node.args().size() > 1 && node.args()[1].is_string()) {
    const absl::string_view name = node.args()[1].string();
    return name == "is_leaf" || absl::StrContains(name, "grad");
  }
  const std::vector<absl::string_view> words = absl::StrSplit(target, absl::ByAnyChar("._"));
  return absl::c_linear_search(words, "grad");
}

// --- The regions --------------------------------------------------------------------

class RegionInliner {
 public:
  RegionInliner(Module* module, PassRun* run) : module_(module), run_(*run), autocast_(*module) {}

  absl::StatusOr<bool> Run() {
    if (!HasRegions(*module_)) return false;
    FindCallees(module_->main());
    FindWhatAsks();
    // A region that is kept may require others inside it to be kept.
    do {
      visited_.clear();
      has_changed_ = false;
      Visit(*module_->main(), {});
    } while (has_changed_);
    RETURN_IF_ERROR(CheckCalls());
    bool changed = false;
    for (Graph* graph : callees_first_) changed |= Rewrite(graph);
    for (const auto& [why, count] : reasons_) run_.Note(why, count);
    if (changed) module_->EraseUnusedGraphs();
    return changed;
  }

 private:
  // Lists all graphs, callees before callers.
  void FindCallees(Graph* graph) {
    if (!seen_.insert(graph).second) return;
    for (const Node* node : graph->nodes()) {
      node->ForEachArgument([&](const Argument& a) {
        if (a.is_graph()) FindCallees(a.graph());
      });
    }
    callees_first_.push_back(graph);
  }

  // Finds the first call that asks for gradients, and the graphs that reach a call of which nothing
  // is known.
  void FindWhatAsks() {
    for (const Graph* graph : callees_first_) {
      for (const Node* node : graph->nodes()) {
        if (asks_ == nullptr && AsksForGradients(*node)) asks_ = node;
        bool is_unknown = node->op() == Op::kCallModule;
        if (node->is_call()) {
          const Callable::Kind kind = CalleeOf(*node).kind;
          const bool lacks = kind == Callable::Kind::kNone || kind == Callable::Kind::kForeign;
          is_unknown |= lacks && !OutOverload(*node).has_value();
        }
        node->ForEachArgument(
            [&](const Argument& a) { is_unknown |= a.is_graph() && unknown_.contains(a.graph()); });
        if (is_unknown) unknown_.insert(graph);
      }
    }
  }

  // Decides which regions of `graph` to keep when it is called under the autocast state `outer`.
  void Visit(const Graph& graph, const AutocastState& outer) {
    if (!visited_.insert({&graph, outer}).second) return;
    struct Open {
      const Node* node;
      AutocastState around;
    };
    std::vector<Open> open;
    AutocastState state = outer;
    for (const Node* node : graph.nodes()) {
      if (!node->is_call()) continue;
      const Bracket bracket = BracketOf(*node);
      if (bracket == Bracket::kAutocastOpen) {
        open.push_back({node, state});
        const Node* const close = CloseOf(*node, autocast_.pairs());
        state = Decide(*node, AutocastModeOf(node->args()), state, [&](const std::string& device) {
          return autocast_.FindIn(*node, close, device);
        });
        if (close == nullptr) Keep(*node, "autocast is not closed where it is opened");
        continue;
      }
      if (bracket == Bracket::kAutocastClose) {
        if (!open.empty()) {
          state = open.back().around;
          open.pop_back();
        }
        continue;
      }
      const std::optional<RegionForm> form = RegionFormOf(*node);
      AutocastState inner = state;
      if (form.has_value() && form->mode == RegionForm::Mode::kAutocast) {
        const Graph& body = *node->args()[form->body].graph();
        inner = Decide(*node, AutocastModeOf(node->args().first(form->body)), state,
                       [&](const std::string& device) { return autocast_.FindIn(body, device); });
      } else if (form.has_value() && form->mode == RegionForm::Mode::kGradients) {
        const Graph& body = *node->args()[form->body].graph();
        if (asks_ != nullptr) {
          Keep(*node, absl::StrCat(asks_->target(), " asks for gradients"));
        } else if (unknown_.contains(&body)) {
          Keep(*node, "nothing is known of a call in a region without gradients");
        }
      }
      node->ForEachArgument([&](const Argument& a) {
        if (a.is_graph()) Visit(*a.graph(), inner);
      });
    }
  }

  // Returns the autocast state inside a region with the settings `mode`. Keeps the region if the
  // change matters to a call in it, which `find` finds.
  template <typename Find>
  AutocastState Decide(const Node& node, const std::optional<AutocastMode>& mode,
                       const AutocastState& state, Find&& find) {
    if (!mode.has_value()) {
      Keep(node, "whether autocast is on is not known");
      return state;
    }
    AutocastState inner = mode->Under(state);
    if (inner == state) return state;
    if (kept_.contains(&node)) return inner;
    const Node* const use = find(mode->device);
    if (use == nullptr) return state;
    Keep(node, absl::StrCat("autocast on ", mode->device, " may compute ", use->target(),
                            " in another dtype"));
    return inner;
  }

  void Keep(const Node& node, std::string why) {
    if (!kept_.insert(&node).second) return;
    ++reasons_[std::move(why)];
    has_changed_ = true;
  }

  // Checks that operands fit parameters and that no graph gets too large.
  absl::Status CheckCalls() const {
    absl::flat_hash_map<const Graph*, size_t> sizes;
    for (const Graph* graph : callees_first_) {
      size_t size = graph->num_nodes();
      for (const Node* node : graph->nodes()) {
        const std::optional<RegionForm> form = RegionFormOf(*node);
        if (!form.has_value() || kept_.contains(node)) continue;
        const Graph& body = *node->args()[form->body].graph();
        const size_t operands = node->args().size() - form->operands;
        const size_t parameters = body.placeholders().size();
        if (operands != parameters) {
          return NodeError(*node,
                           absl::StrCat(operands, " operands for ", parameters, " parameters"));
        }
        size += sizes.at(&body);
        if (size <= kMaxInlinedNodes) continue;
        return absl::ResourceExhaustedError(
            NodeError(*node, absl::StrCat("with its regions inlined, its graph takes more than ",
                                          kMaxInlinedNodes, " nodes"))
                .message());
      }
      sizes[graph] = size;
    }
    return absl::OkStatus();
  }

  // PyTorch takes `out` only where no operand asks for gradients, so in a region without gradients
  // the operands of such calls are detached.
  void DetachForOut(Graph* body) {
    if (!detached_.insert(body).second) return;
    for (Node* node : body->nodes()) {
      const std::optional<Schema> schema =
          node->op() == Op::kCallFunction ? OutOverload(*node) : std::nullopt;
      if (!schema.has_value()) continue;
      absl::flat_hash_set<const Node*> outs;
      for (size_t i = schema->arguments.size() - schema->returns.size();
           i < schema->arguments.size(); ++i) {
        const Argument* const out = node->kwarg(schema->arguments[i].name);
        if (out != nullptr && out->is_node()) outs.insert(out->node());
      }
      const InsertionGuard guard(body, node);
      node->MapArguments([&](const Argument& argument) -> Argument {
        if (!argument.is_node() || outs.contains(argument.node()) ||
            argument.node()->tensor_meta() == nullptr)
          return argument;
        Node* const detached = body->CallFunction("aten.detach.default", {argument});
        detached->set_location(node->location());
        detached->set_module_path(node->module_path());
        detached->set_meta(argument.node()->meta());
        return detached;
      });
    }
  }

  bool Rewrite(Graph* graph) {
    bool changed = false;
    for (Node* node : graph->nodes()) {
      if (!node->is_call() || kept_.contains(node)) continue;
      if (const std::optional<RegionForm> form = RegionFormOf(*node)) {
        if (form->mode == RegionForm::Mode::kGradients && node->args()[0].is_bool() &&
            !node->args()[0].boolean()) {
          DetachForOut(node->args()[form->body].graph());
        }
        std::vector<Argument> args = {node->args()[form->body]};
        for (const Argument& operand : node->args().subspan(form->operands))
          args.push_back(operand);
        node->set_args(args);
        const absl::Status inlined = Inline(node);
        CHECK(inlined.ok());  // CheckCalls has made sure of it.
        changed = true;
      } else if (IsGradientModeCall(*node) && asks_ == nullptr && !node->has_uses()) {
        if (unknown_.contains(graph)) continue;
        graph->EraseNode(node);
        changed = true;
      } else if (BracketOf(*node) == Bracket::kAutocastOpen) {
        graph->EraseNode(const_cast<Node*>(CloseOf(*node, autocast_.pairs())));
        graph->EraseNode(node);
        changed = true;
      }
    }
    return changed;
  }

  Module* module_;
  PassRun& run_;
  AutocastUse autocast_;
  absl::flat_hash_set<const Graph*> seen_;
  std::vector<Graph*> callees_first_;
  const Node* asks_ = nullptr;
  absl::flat_hash_set<const Graph*> unknown_;
  absl::flat_hash_set<const Graph*> detached_;  // by DetachForOut
  std::set<std::pair<const Graph*, AutocastState>> visited_;
  absl::flat_hash_set<const Node*> kept_;
  std::map<std::string, size_t> reasons_;
  bool has_changed_ = false;
};

}  // namespace

bool HasRegions(const Module& module) {
  return absl::c_any_of(module.graphs(), [](const Graph* graph) {
    return absl::c_any_of(graph->nodes(), [](const Node* node) {
      return RegionFormOf(*node).has_value() || IsGradientModeCall(*node) ||
             BracketOf(*node) == Bracket::kAutocastOpen;
    });
  });
}

absl::StatusOr<bool> InlineRegions(Module* module, PassRun& run) {
  if (module->main() == nullptr) return false;
  return RegionInliner(module, &run).Run();
}

namespace {

const RegisteredPass kInlineRegionsPass("inline-regions", "inline_regions.h", InlineRegions);

}  // namespace

}  // namespace graphnet

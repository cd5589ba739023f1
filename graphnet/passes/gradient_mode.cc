#include "graphnet/passes/gradient_mode.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "graphnet/ops/memory_use.h"

namespace graphnet {
namespace {

bool IsFloating(const Node& node) {
  const TensorMeta* meta = node.tensor_meta();
  return meta == nullptr || meta->dtype == DType::kUnknown || IsFloatingPoint(meta->dtype) ||
         meta->dtype == DType::kComplex64 || meta->dtype == DType::kComplex128;
}

// A plain tensor or a number: dynamo says torch.Tensor of what is no parameter.
bool IsPlain(absl::string_view annotation) {
  return !annotation.empty() && !absl::StrContains(annotation, "Parameter");
}

class GradientModes {
 public:
  explicit GradientModes(Graph* graph) : graph_(graph) {}

  size_t Erase() {
    std::vector<Node*> setters;
    for (Node* node : graph_->nodes()) {
      if (SetsGradientMode(*node)) setters.push_back(node);
    }
    if (setters.empty()) return 0;
    size_t erased = 0;
    bool mode = true;  // That the calls kept so far leave.
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
  // Whether a call between `setter` and the next one might see the mode.
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
    const auto is_body = [](const Argument& a) { return a.is_graph(); };
    if (absl::c_any_of(node.args(), is_body) ||
        absl::c_any_of(node.kwargs(), [&](const KwArg& a) { return is_body(a.value); })) {
      return true;
    }
    bool sees = false;
    node.ForEachOperand([&](const Node* operand) { sees |= MayWantGradient(operand); });
    return sees;
  }

  // Found once for all nodes, in program order: operands come first.
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
        // What it writes to, and all that shares its memory, wants it then.
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

}  // namespace

bool SetsGradientMode(const Node& node) {
  return (node.is_call_function("torch._C._set_grad_enabled") ||
          node.is_call_function("torch.set_grad_enabled")) &&
         node.args().size() == 1 && node.args()[0].is_bool() && node.kwargs().empty();
}

size_t EraseIdleGradientModes(Module* module) {
  size_t erased = 0;
  for (Graph* graph : module->graphs()) erased += GradientModes(graph).Erase();
  return erased;
}

}  // namespace graphnet

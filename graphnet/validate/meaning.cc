#include "graphnet/validate/meaning.h"

#include <cstddef>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/module.h"
#include "graphnet/ops/binder.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/value_type.h"
#include "graphnet/text/equality.h"

namespace graphnet::validate_internal {
namespace {

bool HoldsGraph(const Argument& argument) {
  if (argument.is_graph()) return true;
  if (!argument.is_aggregate()) return false;
  for (const Argument& element : argument.elements()) {
    if (HoldsGraph(element)) return true;
  }
  return false;
}

bool TakesBodies(const Node& call) {
  for (const Argument& argument : call.args()) {
    if (HoldsGraph(argument)) return true;
  }
  for (const KwArg& argument : call.kwargs()) {
    if (HoldsGraph(argument.value)) return true;
  }
  return false;
}

// Two calls side by side, on inputs that stand for the values of the original.
class SideBySide {
 public:
  // `untyped`: the annotation of values of which nothing is known.
  SideBySide(const Node& original, const Node& call,
             absl::FunctionRef<const Node*(const Node*)> value_of, absl::string_view untyped) {
    Graph* graph = module_.AddGraph("forward");
    const auto place = [&](const Node* value) {
      Node*& input = inputs_[value];
      if (input != nullptr) return;
      input = graph->Placeholder("value");
      if (value->tensor_meta() != nullptr)
        input->set_meta(module_.InternValueMeta(*value->tensor_meta()));
      const bool known = value->meta() != nullptr || !value->annotation().empty();
      input->set_annotation(known ? value->annotation() : untyped);
    };
    original.ForEachOperand(place);
    call.ForEachOperand([&](const Node* operand) {
      if (const Node* value = value_of(operand)) {
        place(value);
      } else {
        complete_ = false;
      }
    });
    if (!complete_) return;
    first_ = graph->CopyNodeFrom(original, [&](Node* operand) { return inputs_.at(operand); });
    second_ =
        graph->CopyNodeFrom(call, [&](Node* operand) { return inputs_.at(value_of(operand)); });
    for (Node* node : {first_, second_}) node->set_meta(nullptr);
    graph->Output(Argument(first_));
  }

  bool AreTheSame() const {
    if (!complete_) return false;
    const Callable a = CalleeOf(*first_);
    const Callable b = CalleeOf(*second_);
    if (!a.is_known() || !b.is_known()) return false;
    return first_->op() == second_->op() && first_->target() == second_->target() ? BindAlike(a)
                                                                                  : LowerAlike();
  }

 private:
  bool BindAlike(const Callable& callee) const {
    const auto type_of = [](const Node* node) { return TypeOfAnnotation(node->annotation()); };
    const auto bind = [&](const Node& call) {
      return Bind(callee, call.args(), call.kwargs(), type_of);
    };
    const absl::StatusOr<BoundCall> a = bind(*first_);
    const absl::StatusOr<BoundCall> b = bind(*second_);
    return a.ok() && b.ok() && &a->schema() == &b->schema() && a->all() == b->all();
  }

  bool LowerAlike() const {
    const absl::StatusOr<LoweredModule> lowered = LowerToAten(module_);
    if (!lowered.ok()) return false;
    std::vector<const Node*> made_of_first;
    std::vector<const Node*> made_of_second;
    for (const Node* node : lowered->module->main()->nodes()) {
      if (lowered->origins[node] == first_) made_of_first.push_back(node);
      if (lowered->origins[node] == second_) made_of_second.push_back(node);
    }
    if (made_of_first.size() != made_of_second.size() || made_of_first.empty()) return false;
    NodeComparison nodes({.names = false, .metas = false, .locations = false});
    for (const Node* input : lowered->module->main()->placeholders()) nodes.Map(input, input);
    for (size_t i = 0; i < made_of_first.size(); ++i) {
      if (!nodes.Compare(*made_of_first[i], *made_of_second[i]).ok()) return false;
    }
    const Argument& x = lowered->values[first_];
    const Argument& y = lowered->values[second_];
    return x.is_node() && y.is_node() ? nodes.MappedTo(y.node()) == x.node() : x == y;
  }

  Module module_;
  absl::flat_hash_map<const Node*, Node*> inputs_;  // by the value of the original
  bool complete_ = true;
  Node* first_ = nullptr;
  Node* second_ = nullptr;
};

}  // namespace

std::pair<Op, absl::string_view> MeaningOf(const Node& node) {
  const Callable callee = CalleeOf(node);
  if (!callee.is_known()) return {node.op(), node.target()};
  return {Op::kCallFunction, callee.name.substr(callee.name.rfind('.') + 1)};
}

bool MeansTheSame(const Node& original, const Node& call,
                  absl::FunctionRef<const Node*(const Node*)> value_of) {
  if (TakesBodies(original) || TakesBodies(call)) return false;
  // What nothing is known of is a tensor or a number.
  return SideBySide(original, call, value_of, "").AreTheSame() ||
         SideBySide(original, call, value_of, "int").AreTheSame();
}

}  // namespace graphnet::validate_internal

#include "graphnet/validate/meaning.h"

#include <cstddef>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ops/binder.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/value_type.h"

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

// A graph of two calls side by side, on inputs that stand for the values of the original.
class SideBySide {
 public:
  // `untyped` is the annotation of values of which nothing is known.
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
    if (!complete_ || !CalleeOf(*first_).is_known() || !CalleeOf(*second_).is_known()) return false;
    if (first_->op() != second_->op() || first_->target() != second_->target()) return LowerAlike();
    NodeComparison nodes(kStructure);
    for (const auto& [value, input] : inputs_) nodes.Map(input, input);
    return BindAlike(*first_, *second_, nodes);
  }

 private:
  static constexpr EqualityOptions kStructure = {.names = false, .metas = false};

  // Compares arguments of `first_` and `second_`, or of the calls that they were lowered to.
  static bool Same(const Argument& x, const Argument& y, const NodeComparison& nodes) {
    if (y.is_node()) return x.is_node() && nodes.MappedTo(y.node()) == x.node();
    if (!y.is_list() && !y.is_tuple()) return x == y;
    return x.kind() == y.kind() &&
           absl::c_equal(x.elements(), y.elements(),
                         [&](const Argument& a, const Argument& b) { return Same(a, b, nodes); });
  }

  // Compares two calls of one target.
  static bool BindAlike(const Node& a, const Node& b, const NodeComparison& nodes) {
    const auto type_of = [](const Node* node) { return TypeOfAnnotation(node->annotation()); };
    const auto bind = [&](const Node& call) {
      return Bind(CalleeOf(call), call.args(), call.kwargs(), type_of);
    };
    const absl::StatusOr<BoundCall> x = bind(a);
    const absl::StatusOr<BoundCall> y = bind(b);
    return x.ok() && y.ok() && &x->schema() == &y->schema() &&
           absl::c_equal(x->all(), y->all(),
                         [&](const Argument& p, const Argument& q) { return Same(p, q, nodes); });
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
    NodeComparison nodes(kStructure);
    for (const Node* input : lowered->module->main()->placeholders()) nodes.Map(input, input);
    for (size_t i = 0; i < made_of_first.size(); ++i) {
      const Node& a = *made_of_first[i];
      const Node& b = *made_of_second[i];
      if (nodes.Compare(a, b).ok()) continue;
      if (a.op() != b.op() || a.target() != b.target() || !BindAlike(a, b, nodes)) return false;
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
  // A value of which nothing is known may be a tensor or a number.
  return SideBySide(original, call, value_of, "").AreTheSame() ||
         SideBySide(original, call, value_of, "int").AreTheSame();
}

}  // namespace graphnet::validate_internal

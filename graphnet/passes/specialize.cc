#include "graphnet/passes/specialize.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/effects.h"

namespace graphnet {
namespace {

class Specialization {
 public:
  explicit Specialization(Module* module) : module_(*module) {}

  bool Run() {
    for (const Node* node : module_.main()->placeholders()) FindNumber(*node);
    if (!tensors_.empty()) ForgetWritten();
    for (Graph* graph : module_.graphs()) {
      for (Node* node : graph->nodes()) {
        changed_ |= node->MapArguments([&](const Argument& argument) -> Argument {
          if (!argument.is_node()) return argument;
          const auto it = numbers_.find(argument.node());
          return it == numbers_.end() ? argument : it->second;
        });
        FindItem(*node);
        ChangeMeta(node);
      }
    }
    EraseItems();
    const std::vector<Attribute> attributes(module_.attributes().begin(),
                                            module_.attributes().end());
    for (Attribute attribute : attributes) {
      if (attribute.meta == nullptr) continue;
      const TensorMeta* const meta = Static(*attribute.meta);
      if (meta == attribute.meta) continue;
      attribute.meta = meta;
      module_.AddAttribute(attribute);
      changed_ = true;
    }
    return changed_;
  }

 private:
  // Inputs that are numbers, and tensors of one that is known.
  void FindNumber(const Node& node) {
    if (node.draw_spec() == nullptr) return;
    const Argument& data = node.draw_spec()->data;
    if (!data.is_list() || data.elements().size() != 1) return;
    const Argument& number = data.elements()[0];
    if (NumberDType(node.annotation()) == DType::kInt64) {
      if (number.is_int()) numbers_[&node] = number;
      return;
    }
    // float64 and int64 hold what is written exactly; float32 is what it is rounded to.
    const TensorMeta* const meta = node.tensor_meta();
    if (meta == nullptr || NumberDType(node.annotation()).has_value()) return;
    if (meta->dtype == DType::kFloat64 && number.is_float()) tensors_[&node] = number;
    if (meta->dtype == DType::kInt64 && number.is_int()) tensors_[&node] = number;
    if (meta->dtype == DType::kFloat32 && number.is_float())
      tensors_[&node] = Argument(static_cast<double>(static_cast<float>(number.real())));
  }

  // What the graph writes to holds another number later.
  void ForgetWritten() {
    const Effects effects(module_);
    const MemoryGroups groups(module_, effects);
    absl::flat_hash_set<const Node*> written;
    for (const Graph* graph : module_.graphs()) {
      for (const Node* node : graph->nodes()) {
        const CallEffects& does = effects.Of(*node);
        for (const Node* value : does.mutates) written.insert(groups.Of(value));
        if (!does.is_unknown) continue;
        for (const Node* value : node->operands()) written.insert(groups.Of(value));
      }
    }
    absl::erase_if(tensors_, [&](const auto& tensor) {
      return written.contains(groups.Of(tensor.first));
    });
  }

  void FindItem(Node& node) {
    const bool is_item = node.is_call_method("item") ||
                         absl::StartsWith(node.target(), "aten.item") ||
                         absl::StrContains(node.target(), "aten._local_scalar_dense") ||
                         absl::StrContains(node.target(), "ops.aten.item");
    if (!is_item || node.args().size() != 1 || !node.args()[0].is_node()) return;
    const auto it = tensors_.find(node.args()[0].node());
    if (it == tensors_.end()) return;
    numbers_[&node] = it->second;
    items_.push_back(&node);
  }

  void EraseItems() {
    for (Node* item : items_) {
      if (!item->has_uses()) item->graph()->EraseNode(item);
    }
  }

  void ChangeMeta(Node* node) {
    if (node->meta() == nullptr) return;
    const ValueMeta* const meta = Static(node->meta());
    if (meta == node->meta()) return;
    node->set_meta(meta);
    changed_ = true;
  }

  const TensorMeta* Static(const TensorMeta& meta) {
    if (meta.is_static()) return &meta;
    std::vector<Dim> shape;
    for (const Dim& dim : meta.shape) {
      const std::optional<int64_t> example =
          dim.is_static() ? std::nullopt : EvaluateWithExamples(module_, *dim.expr);
      shape.push_back(example.has_value() && *example >= 0 ? Dim(*example) : dim);
    }
    TensorMeta made = meta;
    made.shape = shape;
    return module_.InternMeta(made);
  }
  const ValueMeta* Static(const ValueMeta* meta) {
    if (meta->tensor != nullptr) {
      const TensorMeta* const tensor = Static(*meta->tensor);
      return tensor == meta->tensor ? meta : module_.InternValueMeta(*tensor);
    }
    std::vector<const ValueMeta*> elements;
    bool changed = false;
    for (const ValueMeta* element : meta->elements) {
      elements.push_back(element == nullptr ? nullptr : Static(element));
      changed |= elements.back() != element;
    }
    return changed ? module_.InternTupleMeta(elements) : meta;
  }

  Module& module_;
  absl::flat_hash_map<const Node*, Argument> numbers_, tensors_;
  std::vector<Node*> items_;
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> Specialize(Module* module, PassRun& /*run*/) {
  return module->main() != nullptr && Specialization(module).Run();
}

}  // namespace graphnet

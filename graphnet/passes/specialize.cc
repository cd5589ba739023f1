#include "graphnet/passes/specialize.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/pass.h"

namespace graphnet {
namespace {

// Drawn values lie between -kMaxDrawn and kMaxDrawn.
constexpr double kMaxDrawn = 100;

class Specialization {
 public:
  explicit Specialization(Module* module) : module_(*module) {}

  bool Run() {
    for (const Node* node : module_.main()->placeholders()) FindNumbers(*node);
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
  // Finds inputs that are numbers, and tensors whose elements are known.
  void FindNumbers(const Node& node) {
    const DrawSpec* const spec = node.draw_spec();
    if (spec == nullptr) return;
    const absl::Span<const Argument> data =
        spec->data.is_list() ? spec->data.elements() : absl::Span<const Argument>();
    if (NumberDType(node.annotation()).has_value()) {
      if (data.size() == 1 && data[0].is_int() && NumberDType(node.annotation()) == DType::kInt64)
        numbers_[&node] = data[0];
      return;
    }
    const TensorMeta* const meta = node.tensor_meta();
    if (meta == nullptr || !meta->has_shape || meta->shape.size() > 1) return;
    if (!data.empty()) {
      std::vector<Argument> elements;
      for (const Argument& element : data) elements.push_back(InDType(element, meta->dtype));
      tensors_[&node] = std::move(elements);
    } else if (meta->shape.empty() && spec->has_mean && spec->has_std && spec->std == 0 &&
               std::abs(spec->mean) <= kMaxDrawn && spec->min.is_none() && spec->max.is_none()) {
      tensors_[&node] = {InDType(spec->mean, meta->dtype)};
    }
  }

  // Returns the number as a tensor of the dtype stores it; None for other dtypes.
  static Argument InDType(const Argument& number, DType dtype) {
    if (dtype == DType::kInt64 && number.is_int()) return number;
    if (!number.is_float()) return Argument();
    if (dtype == DType::kFloat64) return number;
    if (dtype == DType::kFloat32) return static_cast<double>(static_cast<float>(number.real()));
    return Argument();
  }

  // Forgets values that the graph writes to, as they change.
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
    absl::erase_if(tensors_,
                   [&](const auto& tensor) { return written.contains(groups.Of(tensor.first)); });
  }

  // Evaluates x[i] and x.item().
  void FindItem(Node& node) {
    const absl::Span<const Argument> args = node.args();
    if (tensors_.empty() || args.empty() || !args[0].is_node()) return;
    const auto it = tensors_.find(args[0].node());
    if (it == tensors_.end()) return;
    const std::vector<Argument>& elements = it->second;
    if (node.is_call_function("operator.getitem") && args.size() == 2 && args[1].is_int()) {
      const auto size = static_cast<int64_t>(elements.size());
      const int64_t i = args[1].integer() + (args[1].integer() < 0 ? size : 0);
      if (i >= 0 && i < size) tensors_[&node] = std::vector<Argument>{elements[i]};
      return;
    }
    const bool is_item = node.is_call_method("item") ||
                         node.is_call_function("torch.ops.aten.item") ||
                         node.is_call_function("torch.ops.aten._local_scalar_dense") ||
                         node.is_call_function("aten.item.default") ||
                         node.is_call_function("aten._local_scalar_dense.default");
    if (!is_item || args.size() != 1 || elements.size() != 1 || elements[0].is_none()) return;
    numbers_[&node] = elements[0];
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
  absl::flat_hash_map<const Node*, Argument> numbers_;
  absl::flat_hash_map<const Node*, std::vector<Argument>> tensors_;
  std::vector<Node*> items_;
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> Specialize(Module* module, PassRun& /*run*/) {
  return module->main() != nullptr && Specialization(module).Run();
}

namespace {

const RegisteredPass kSpecializePass("specialize", "specialize.h", Specialize);

}  // namespace

}  // namespace graphnet

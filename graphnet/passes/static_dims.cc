#include "graphnet/passes/static_dims.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

class Specialization {
 public:
  explicit Specialization(Module* module) : module_(*module) {}

  bool Run() {
    for (Node* node : module_.main()->placeholders()) FindNumber(*node);
    for (Graph* graph : module_.graphs()) {
      for (Node* node : graph->nodes()) {
        changed_ |= node->MapArguments([&](const Argument& argument) -> Argument {
          if (!argument.is_node()) return argument;
          const auto it = numbers_.find(argument.node());
          return it == numbers_.end() ? argument : Argument(it->second);
        });
        if (node->meta() == nullptr) continue;
        const ValueMeta* const meta = Static(node->meta());
        if (meta == node->meta()) continue;
        node->set_meta(meta);
        changed_ = true;
      }
    }
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
  void FindNumber(const Node& node) {
    if (NumberDType(node.annotation()) != DType::kInt64 || node.draw_spec() == nullptr) return;
    const Argument& data = node.draw_spec()->data;
    if (data.is_list() && data.elements().size() == 1 && data.elements()[0].is_int())
      numbers_[&node] = data.elements()[0].integer();
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
  absl::flat_hash_map<const Node*, int64_t> numbers_;
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> StaticDims(Module* module, PassRun& /*run*/) {
  return module->main() != nullptr && Specialization(module).Run();
}

}  // namespace graphnet

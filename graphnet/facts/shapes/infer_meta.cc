#include "graphnet/facts/shapes/infer_meta.h"

#include <vector>

#include "absl/strings/strip.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

const ValueMeta* MakeMeta(Module* module, const TensorFacts& facts) {
  TensorMeta meta;
  meta.dtype = facts.dtype;
  meta.has_device = facts.device.has_value();
  if (facts.device.has_value()) meta.device = *facts.device;
  meta.has_shape = facts.is_static();
  std::vector<Dim> dims;
  if (meta.has_shape) dims.assign(facts.sizes->begin(), facts.sizes->end());
  meta.shape = dims;
  const bool is_known = meta.has_shape || meta.dtype != DType::kUnknown;
  return is_known ? module->InternValueMeta(meta) : nullptr;
}

TensorFacts FactsOf(const Argument& value) {
  if (!value.is_node()) return TensorFacts::Other();
  return FactsOfMeta(value.node()->tensor_meta());
}

}  // namespace

absl::string_view AtenName(const Node& node) {
  absl::string_view target = node.target();
  if (node.op() != Op::kCallFunction || !absl::ConsumePrefix(&target, "aten.")) return "";
  return target.substr(0, target.find('.'));
}

std::optional<Sizes> SizesOf(const Argument& value) {
  TensorFacts facts = FactsOf(value);
  return facts.is_static() ? std::move(facts.sizes) : std::nullopt;
}

int RankOf(const Argument& value) {
  const TensorMeta* meta = value.is_node() ? value.node()->tensor_meta() : nullptr;
  return meta == nullptr || !meta->has_shape ? -1 : static_cast<int>(meta->shape.size());
}

DType DTypeOf(const Argument& value) {
  const TensorMeta* meta = value.is_node() ? value.node()->tensor_meta() : nullptr;
  return meta == nullptr ? DType::kUnknown : meta->dtype;
}

std::optional<Argument> ConstantOf(const Node& get_attr) {
  if (get_attr.op() != Op::kGetAttr) return std::nullopt;
  const Attribute* attribute = get_attr.graph()->module()->FindAttribute(get_attr.target());
  if (attribute == nullptr || attribute->meta == nullptr || attribute->draw_spec == nullptr ||
      !attribute->meta->has_shape || !attribute->meta->shape.empty() ||
      attribute->annotation == "torch.nn.parameter.Parameter") {
    return std::nullopt;
  }
  const Argument& data = attribute->draw_spec->data;
  if (!data.is_list() || data.elements().size() != 1) return std::nullopt;
  return data.elements()[0];
}

void InferMeta(Node* node) {
  const TensorMeta* known = node->tensor_meta();
  if (known != nullptr && known->has_shape && known->dtype != DType::kUnknown) return;
  Module* module = node->graph()->module();
  if (node->is_call_function("operator.getitem") && node->args().size() == 2 &&
      node->args()[0].is_node() && node->args()[1].is_int()) {
    const ValueMeta* whole = node->args()[0].node()->meta();
    if (whole == nullptr || !whole->is_tuple) return;
    const auto size = static_cast<int64_t>(whole->elements.size());
    const int64_t i = node->args()[1].integer() < 0 ? node->args()[1].integer() + size
                                                    : node->args()[1].integer();
    if (i >= 0 && i < size && whole->elements[static_cast<size_t>(i)] != nullptr) {
      node->set_meta(whole->elements[static_cast<size_t>(i)]);
    }
    return;
  }
  if (node->target() == "prim.NumToTensor.Scalar" && node->args().size() == 1 &&
      node->args()[0].is_int()) {
    node->set_meta(MakeMeta(module, TensorFacts::Tensor(0, DType::kInt64)));
    return;
  }
  const Schema* schema = node->op() == Op::kCallFunction ? FindOverload(node->target()) : nullptr;
  if (schema == nullptr || (node->meta() != nullptr && node->meta()->is_tuple)) return;
  std::vector<TensorFacts> facts;
  const TensorFacts value = FactsOfCall(*node, *schema, FactsOf, &facts);
  if (value.is_tensor()) {
    if (const ValueMeta* meta = MakeMeta(module, value)) node->set_meta(meta);
    return;
  }
  if (facts.empty()) return;
  std::vector<const ValueMeta*> elements;
  for (const TensorFacts& fact : facts) {
    const ValueMeta* meta = MakeMeta(module, fact);
    elements.push_back(meta != nullptr ? meta : module->InternValueMeta(TensorMeta()));
  }
  node->set_meta(module->InternTupleMeta(elements));
}

}  // namespace graphnet

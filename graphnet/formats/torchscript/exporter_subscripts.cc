// Exports subscripts of tensors as TorchScript's own compiler writes them: one view
// after the other, then one aten::index by all tensors.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/torchscript/exporter_graph.h"
#include "graphnet/ir/tensor_meta.h"

namespace graphnet::torchscript {

namespace aten = torch::jit::aten;
namespace jit = torch::jit;
namespace prim = torch::jit::prim;

namespace {

// Returns whether an index may consume several dimensions, as masks do.
bool MayTakeSeveral(const Argument& index) {
  const ValueMeta* const meta = index.is_node() ? index.node()->meta() : nullptr;
  if (meta == nullptr || meta->tensor == nullptr) return true;
  const TensorMeta& tensor = *meta->tensor;
  return (tensor.dtype == DType::kBool || tensor.dtype == DType::kUInt8) &&
         tensor.shape.size() != 1;
}

}  // namespace

absl::Status GraphExporter::TakeIndex(const Argument& index, int64_t dim, bool* keeps,
                                      Subscript* result) {
  *keeps = true;
  jit::Value*& view = result->view;
  if (index.is_none()) {
    view = graph_->insert(aten::unsqueeze, {view, dim});
    return absl::OkStatus();
  }
  if (index.kind() == Argument::Kind::kSlice) {
    bool whole = true;
    std::vector<jit::NamedValue> args = {view, dim};
    for (const Argument& bound : index.elements()) {
      whole = whole && bound.is_none();
      ASSIGN_OR_RETURN(jit::Value* const part,
                       bound.is_none() ? ValueOf(bound) : Fit(bound, c10::IntType::get()));
      args.emplace_back(part);
    }
    if (whole) return absl::OkStatus();
    if (index.elements()[2].is_none()) args.back() = jit::NamedValue(c10::IValue(1));
    view = graph_->insert(aten::slice, args);
    return absl::OkStatus();
  }
  if (index.kind() == Argument::Kind::kBool) return Error("a bool cannot be an index");
  ASSIGN_OR_RETURN(jit::Value* const value, ValueOf(index));
  if (value->type()->kind() == c10::TypeKind::IntType) {
    view = graph_->insert(aten::select, {view, dim, value});
    *keeps = false;
    return absl::OkStatus();
  }
  if (value->type()->kind() != c10::TypeKind::TensorType) {
    return Error(absl::StrCat("an index has type ", value->type()->annotation_str()));
  }
  if (dim < 0) return Error("the dimension of a tensor index after an ellipsis is not known");
  result->tensors.resize(static_cast<size_t>(dim), nullptr);
  result->tensors.push_back(value);
  return absl::OkStatus();
}

absl::StatusOr<GraphExporter::Subscript> GraphExporter::SubscriptOf(jit::Value* tensor,
                                                                    const Argument& subscript) {
  const absl::Span<const Argument> indices =
      subscript.is_tuple() ? subscript.elements() : absl::MakeConstSpan(&subscript, 1);
  Subscript result = {.view = tensor};
  int64_t dim = 0;
  bool several = false;  // an earlier index may consume several dimensions
  size_t i = 0;
  for (; i < indices.size() && indices[i].kind() != Argument::Kind::kEllipsis; ++i) {
    const size_t num_tensors = result.tensors.size();
    jit::Value* const view = result.view;
    bool keeps;
    RETURN_IF_ERROR(TakeIndex(indices[i], dim, &keeps, &result));
    if (several && result.view != view) {
      return Error(
          "an index follows a tensor that may be a mask of several dimensions; run graphnet shapes "
          "first");
    }
    if (result.tensors.size() != num_tensors && MayTakeSeveral(indices[i])) several = true;
    if (keeps) ++dim;
  }
  // After an ellipsis, dimensions count from the end.
  dim = -1;
  for (size_t last = indices.size(); last > i + 1; --last) {
    if (indices[last - 1].kind() == Argument::Kind::kEllipsis) return Error("a second ellipsis");
    bool keeps;
    RETURN_IF_ERROR(TakeIndex(indices[last - 1], dim, &keeps, &result));
    if (keeps) --dim;
  }
  return result;
}

jit::Value* GraphExporter::IndicesOf(const Subscript& subscript) {
  std::vector<jit::Value*> indices;
  for (jit::Value* const tensor : subscript.tensors) {
    indices.push_back(tensor == nullptr ? None() : tensor);
  }
  return graph_
      ->insertNode(graph_->createList(c10::OptionalType::create(c10::TensorType::get()), indices))
      ->output();
}

absl::Status GraphExporter::ExportTensorGetItem(const Node& node, jit::Value* tensor) {
  ASSIGN_OR_RETURN(const Subscript subscript, SubscriptOf(tensor, node.args()[1]));
  if (!subscript.tensors.empty()) {
    Bind(node, graph_->insert(aten::index, {subscript.view, IndicesOf(subscript)}));
  } else {
    Bind(node, subscript.view == tensor ? graph_->insert(aten::alias, {tensor}) : subscript.view);
  }
  return absl::OkStatus();
}

absl::Status GraphExporter::ExportSetItem(const Node& node) {
  if (node.args().size() != 3 || !node.kwargs().empty()) return Error("it takes three operands");
  ASSIGN_OR_RETURN(jit::Value* const whole, ValueOf(node.args()[0]));
  if (whole->type()->kind() != c10::TypeKind::TensorType) {
    ASSIGN_OR_RETURN(const Operator* op, FindAnyOverload("aten::_set_item"));
    return ExportOperator(node, *op);
  }
  ASSIGN_OR_RETURN(const Subscript subscript, SubscriptOf(whole, node.args()[1]));
  ASSIGN_OR_RETURN(jit::Value * value, ValueOf(node.args()[2]));
  jit::Value* const view = subscript.view;
  const bool is_tensor = value->type()->kind() == c10::TypeKind::TensorType;
  if (subscript.tensors.empty()) {
    graph_->insert(is_tensor ? aten::copy_ : aten::fill_, {view, value});
  } else {
    if (!is_tensor) {
      value = graph_->insert(aten::tensor, {value},
                             {{"dtype", graph_->insert(prim::dtype, {view})},
                              {"device", graph_->insert(prim::device, {view})}});
    }
    graph_->insert(aten::index_put_, {view, IndicesOf(subscript), value});
  }
  bound_[&node] = {};
  return absl::OkStatus();
}

}  // namespace graphnet::torchscript

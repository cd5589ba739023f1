// Exports calls on lists, tuples, dicts and values of any type.
#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/torchscript/exporter_graph.h"

namespace graphnet::torchscript {

namespace jit = torch::jit;
namespace prim = c10::prim;
namespace aten = c10::aten;

absl::Status GraphExporter::ExportGetItem(const Node& node) {
  if (node.args().size() != 2 || !node.kwargs().empty()) return Error("it takes two operands");
  const Argument& index = node.args()[1];
  ASSIGN_OR_RETURN(const Bound whole, BoundOf(node.args()[0]));
  const bool is_slice = index.kind() == Argument::Kind::kSlice;
  // Returns the range that the index or slice selects in a tuple of `size` elements.
  const auto range = [&](size_t size) -> std::optional<std::pair<int64_t, int64_t>> {
    const int64_t n = static_cast<int64_t>(size);
    if (index.is_int()) {
      const int64_t i = index.integer() < 0 ? index.integer() + n : index.integer();
      if (i < 0 || i >= n) return std::nullopt;
      return std::make_pair(i, i + 1);
    }
    int64_t bounds[2] = {0, n};
    for (int b = 0; b < 2; ++b) {
      const Argument& bound = index.elements()[b];
      if (bound.is_none()) continue;
      if (!bound.is_int()) return std::nullopt;
      bounds[b] =
          std::clamp<int64_t>(bound.integer() < 0 ? bound.integer() + n : bound.integer(), 0, n);
    }
    const Argument& step = index.elements()[2];
    if (!step.is_none() && !(step.is_int() && step.integer() == 1)) return std::nullopt;
    return std::make_pair(bounds[0], std::max(bounds[0], bounds[1]));
  };
  if (whole.is_tuple && (index.is_int() || is_slice)) {
    const auto found = range(whole.values.size());
    if (!found) return Error("the index is out of bounds");
    if (index.is_int()) {
      Bind(node, whole.values[found->first]);
    } else {
      bound_[&node] = {
          .values = {whole.values.begin() + found->first, whole.values.begin() + found->second},
          .is_tuple = true};
    }
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(jit::Value * value, ValueOf(node.args()[0]));
  value = Narrow(value, WithoutOptional(value->type()));
  switch (value->type()->kind()) {
    case c10::TypeKind::TupleType: {
      const auto elements = value->type()->expectRef<c10::TupleType>().elements();
      if (index.is_int() || is_slice) {
        const auto found = range(elements.size());
        if (!found) return Error("the index is out of bounds");
        if (is_slice) {
          Bind(node, graph_
                         ->insertNode(graph_->createTupleSlice(value, found->first, 1,
                                                               found->second - found->first))
                         ->output());
          return absl::OkStatus();
        }
        jit::Value* const number = graph_->insertConstant(index.integer());
        Bind(node,
             graph_->insertNode(graph_->createTupleIndex(value, number, elements[found->first]))
                 ->output());
        return absl::OkStatus();
      }
      // The index is known only at run time, so all elements must have one type.
      if (elements.empty()) return Error("the index is out of bounds");
      ASSIGN_OR_RETURN(jit::Value* const number, Fit(index, c10::IntType::get()));
      Bind(node,
           graph_->insertNode(graph_->createTupleIndex(value, number, elements[0]))->output());
      return absl::OkStatus();
    }
    case c10::TypeKind::ListType:
    case c10::TypeKind::DictType:
    case c10::TypeKind::StringType: {
      if (!is_slice) {
        ASSIGN_OR_RETURN(jit::Value* const key, ValueOf(index));
        Bind(node, graph_->insert(aten::__getitem__, {value, key}));
        return absl::OkStatus();
      }
      std::vector<jit::NamedValue> args = {value};
      for (const Argument& bound : index.elements()) {
        ASSIGN_OR_RETURN(jit::Value* const part, ValueOf(bound));
        args.emplace_back(part);
      }
      if (index.elements()[2].is_none()) args.back() = jit::NamedValue(c10::IValue(1));
      Bind(node, graph_->insert(aten::slice, args));
      return absl::OkStatus();
    }
    case c10::TypeKind::TensorType: return ExportTensorGetItem(node, value);
    default:
      return Error(absl::StrCat("an element of a value of type ", value->type()->annotation_str(),
                                "; ", kNothing));
  }
}

absl::Status GraphExporter::ExportList(const Node& node) {
  if (!node.kwargs().empty()) return Error("it takes no keyword arguments");
  ASSIGN_OR_RETURN(const c10::TypePtr type,
                   AnnotatedType(node, TypeOf(Argument::List(node.args()))));
  const auto* list = type == nullptr ? nullptr : type->castRaw<c10::ListType>();
  if (list == nullptr) return Error("the type of its elements is not known");
  ASSIGN_OR_RETURN(jit::Value* const value, ListOf(node.args(), list->getElementType()));
  Bind(node, value);
  return absl::OkStatus();
}

absl::Status GraphExporter::ExportDict(const Node& node) {
  if (!node.kwargs().empty() || node.args().size() % 2 != 0) {
    return Error("it takes alternating keys and values");
  }
  ASSIGN_OR_RETURN(const c10::TypePtr type,
                   AnnotatedType(node, TypeOf(Argument::Dict(node.args()))));
  const auto* dict = type == nullptr ? nullptr : type->castRaw<c10::DictType>();
  if (dict == nullptr) return Error("the type of its elements is not known");
  ASSIGN_OR_RETURN(jit::Value* const value, DictOf(node.args(), dict));
  Bind(node, value);
  return absl::OkStatus();
}

// Exports prim.tolist(tensor, dimensions, element type). Its annotation is the result's type.
absl::Status GraphExporter::ExportToList(const Node& node) {
  if (node.args().size() != 3 || !node.kwargs().empty()) return Error("it takes three operands");
  const absl::StatusOr<c10::TypePtr> type = types_.Parse(node.annotation());
  if (!type.ok()) return Error(type.status().message());
  std::vector<jit::Value*> inputs;
  for (const Argument& argument : node.args()) {
    ASSIGN_OR_RETURN(jit::Value* const value,
                     Fit(argument, inputs.empty() ? c10::TypePtr(c10::TensorType::get())
                                                  : c10::TypePtr(c10::IntType::get())));
    inputs.push_back(value);
  }
  Bind(node, graph_->insertNode(graph_->create(prim::tolist, inputs))->output()->setType(*type));
  return absl::OkStatus();
}

absl::Status GraphExporter::ExportIsInstance(const Node& node) {
  if (node.args().size() != 2 || !node.kwargs().empty() || !node.args()[1].is_tuple()) {
    return Error("it takes a value and a tuple of types");
  }
  std::vector<c10::TypePtr> types;
  for (const Argument& argument : node.args()[1].elements()) {
    if (!argument.is_string()) return Error("its types must be strings");
    const absl::StatusOr<c10::TypePtr> type = types_.Parse(argument.string());
    if (!type.ok()) return Error(type.status().message());
    types.push_back(*type);
  }
  ASSIGN_OR_RETURN(jit::Value* const value, ValueOf(node.args()[0]));
  Bind(node, graph_->insertNode(graph_->createIsInstance(value, types))->output());
  return absl::OkStatus();
}

}  // namespace graphnet::torchscript

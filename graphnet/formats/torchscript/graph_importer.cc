#include "graphnet/formats/torchscript/graph_importer.h"

#include <algorithm>
#include <complex>
#include <map>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/torchscript/packed_parameters.h"
#include "graphnet/interp/inputs/elements.h"
#include "graphnet/interp/structured_input.h"
#include "graphnet/interp/torch/values.h"
#include "graphnet/ir/annotation.h"
#include "torch/csrc/jit/ir/constants.h"
#include "torch/csrc/jit/runtime/operator.h"

namespace graphnet::torchscript {

namespace jit = torch::jit;
namespace prim = c10::prim;
namespace aten = c10::aten;
namespace attr = c10::attr;

namespace {

bool HoldsFuture(const c10::Type& type) {
  return Holds(type, {c10::TypeKind::FutureType, c10::TypeKind::AwaitType});
}

// Returns the result of comparing two arguments; nullopt if they are not constants.
std::optional<bool> Compare(c10::Symbol kind, const Argument& a, const Argument& b) {
  const auto compare = [&](const auto& x, const auto& y) -> std::optional<bool> {
    if (kind == aten::eq) return x == y;
    if (kind == aten::ne) return x != y;
    if (kind == aten::lt) return x < y;
    if (kind == aten::le) return x <= y;
    if (kind == aten::gt) return x > y;
    if (kind == aten::ge) return x >= y;
    return std::nullopt;
  };
  if (a.is_int() && b.is_int()) return compare(a.integer(), b.integer());
  if (a.is_float() && b.is_float()) return compare(a.real(), b.real());
  if (a.is_bool() && b.is_bool()) return compare(a.boolean(), b.boolean());
  if (a.is_string() && b.is_string()) return compare(a.string(), b.string());
  return std::nullopt;
}

}  // namespace

// --- Graphs ------------------------------------------------------------------

absl::Status GraphImporter::Run(const std::string& name, const c10::FunctionSchema* schema,
                                bool has_self) {
  Scope main{.graph = module_.AddGraph(name)};
  scope_ = main_ = &main;
  const jit::Graph& graph = program_.graph();
  for (size_t i = has_self ? 1 : 0; i < graph.inputs().size(); ++i) {
    const jit::Value* value = graph.inputs()[i];
    if (HoldsFuture(*value->type())) {
      return absl::InvalidArgumentError(absl::StrCat("cannot represent input ", i, ": a future"));
    }
    const c10::Argument* formal =
        schema != nullptr && i < schema->arguments().size() ? &schema->arguments()[i] : nullptr;
    std::string input = formal != nullptr ? formal->name() : NameOf(value);
    if (input.empty()) input = absl::StrCat("input_", i - (has_self ? 1 : 0));
    Node* node = AddPlaceholder(&main, input, value->type().get());
    values_[value] = node;
    attributes_.ReserveInput(node->target(),
                             IsStructure(*node) || TakesSeveralKinds(node->annotation()));
    if (value->type()->kind() == c10::TypeKind::TensorType) {
      node->set_annotation("torch.Tensor");
      Describe(node, value);
    }
    // The default of a number, a string or a list of ints becomes its draw spec, and that of another
    // type its value.
    if (formal == nullptr || !formal->default_value()) continue;
    const c10::IValue& given = *formal->default_value();
    std::vector<Argument> data;
    if (TakesSeveralKinds(node->annotation())) {
      AddDefault(*node, given, value->type());
      continue;
    }
    if (given.isInt() || given.isDouble() || given.isBool()) {
      ASSIGN_OR_RETURN(data.emplace_back(), Literal(given, "", ""));
    } else if (given.isIntList()) {
      for (const int64_t element : given.toIntVector()) data.emplace_back(element);
    } else if (given.isString()) {
      for (const char c : given.toStringRef())
        data.emplace_back(int64_t{static_cast<unsigned char>(c)});
    } else {
      AddDefault(*node, given, value->type());
      continue;
    }
    DrawSpec spec;
    spec.data = Argument::List(data);
    node->set_draw_spec(spec);
  }
  if (has_self) {
    if (const Program::Object* self = program_.FindObject(graph.inputs()[0]))
      attributes_.NameSlots(self->object);
  }
  RETURN_IF_ERROR(ImportBlock(graph.block(), 0));
  current_ = graph.return_node();
  ASSIGN_OR_RETURN(const std::vector<Argument> outputs, Operands(graph.outputs()));
  main.graph->Output(outputs.size() == 1 ? outputs[0] : Argument::Tuple(outputs));
  if (options_.unread_parameters != nullptr)
    *options_.unread_parameters = attributes_.UnreadParameters();
  if (attributes_.overlap().empty()) return absl::OkStatus();
  const jit::Node* written = program_.FindWrittenAttribute();
  if (written == nullptr) return absl::OkStatus();
  return CannotRepresent(*written, absl::StrCat("the attributes ", attributes_.overlap(),
                                                " overlap in memory, and one is written to"));
}

void GraphImporter::AddDefault(const Node& input, const c10::IValue& value,
                               const c10::TypePtr& type) {
  // An input without a value is None. A default that no values can express is one to be given.
  if (value.isNone() || !options_.weights) return;
  std::map<std::string, TensorData> values;
  if (AddValues(value, type, std::string(input.target()), &values).ok())
    sample_.weights.merge(values);
}

absl::Status GraphImporter::ImportBlock(const jit::Block* block, int depth) {
  if (depth > kMaxNesting) {
    return CannotRepresent(*current_, absl::StrCat("blocks nest deeper than ", kMaxNesting));
  }
  for (const jit::Node* node : block->nodes()) {
    current_ = node;
    RETURN_IF_ERROR(ImportNode(node, depth));
    if (too_large_) return CannotRepresent(*node, "its structure is too large");
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::ImportNode(const jit::Node* node, int depth) {
  switch (node->kind()) {
    case prim::Constant:
    case prim::ModuleContainerIndex: return absl::OkStatus();  // Their uses look them up.
    case prim::GetAttr: return ImportGetAttr(node);
    case prim::SetAttr: return ImportSetAttr(node);
    case prim::CreateObject: {
      const std::string type = TypeText(*node->output()->type());
      if (absl::StartsWith(type, "__torch__.torch.classes.")) {
        return CannotRepresent(*node, absl::StrCat("an object of the custom class ", type));
      }
      SetResult(node, Emit("prim.CreateObject", {absl::string_view(type)}));
      return absl::OkStatus();
    }
    case prim::If: return ImportIf(node, depth);
    case prim::Loop: return ImportLoop(node, depth);
    case prim::Uninitialized:
      // Only occurs on paths that are not taken, or whose result is unused.
      values_[node->output()] = Argument::None();
      return absl::OkStatus();
    case prim::unchecked_cast:
    case prim::unchecked_unwrap_optional: {
      if (program_.FindObject(node->input(0)) != nullptr) return absl::OkStatus();
      ASSIGN_OR_RETURN(values_[node->output()], Lookup(node->input(0)));
      return absl::OkStatus();
    }
    case prim::TupleConstruct: {
      ASSIGN_OR_RETURN(const std::vector<Argument> elements, Operands(node->inputs()));
      values_[node->output()] = Keep(Argument::Kind::kTuple, elements);
      return absl::OkStatus();
    }
    case prim::ListConstruct: return ImportList(node);
    case prim::DictConstruct: return ImportDict(node);
    case prim::TupleUnpack:
    case prim::ListUnpack: return ImportUnpack(node);
    case prim::TupleIndex:
    case prim::TupleSlice: return ImportTupleElement(node);
    case prim::isinstance: return ImportIsInstance(node);
    case prim::EnumName:
    case prim::EnumValue: return ImportEnum(node);
    default: return ImportCall(node);
  }
}

// --- Values ------------------------------------------------------------------

GraphImporter::Size GraphImporter::SizeOf(const Argument& argument) const {
  if (!argument.is_aggregate()) return {};
  const auto it = sizes_.find(argument.elements().data());
  // Arguments that are not in the table are small: slices, and the arguments of calls.
  return it == sizes_.end() ? Size{argument.elements().size() + 1, 1} : it->second;
}

Argument GraphImporter::Keep(Argument::Kind kind, absl::Span<const Argument> elements) {
  const absl::Span<const Argument> kept = arena_.Copy(elements);
  Size size{1, 1};
  for (const Argument& element : elements) {
    const Size inner = SizeOf(element);
    size.elements = std::min(size.elements + inner.elements, kMaxElements + 1);
    size.depth = std::max(size.depth, inner.depth + 1);
  }
  too_large_ |= size.elements > kMaxElements || size.depth > kMaxNesting;
  if (!kept.empty()) sizes_[kept.data()] = size;
  return Argument::Aggregate(kind, kept);
}

absl::StatusOr<Argument> GraphImporter::Lookup(const jit::Value* value) {
  if (const auto it = values_.find(value); it != values_.end()) return it->second;
  if (const Program::Object* object = program_.FindObject(value)) {
    return CannotRepresent(
        *current_, absl::StrCat("the object self", object->path->empty() ? "" : ".", *object->path,
                                " as a value"));
  }
  const jit::Node* node = value->node();
  if (node->kind() == prim::GetAttr) {
    if (const Program::Object* object = program_.FindObject(node->input(0))) {
      ASSIGN_OR_RETURN(const Argument found, AttributeValue(*object, node->s(attr::name)));
      return values_[value] = found;
    }
  }
  if (node->kind() != prim::Constant) {
    return CannotRepresent(*current_, absl::StrCat("a value of type ", TypeText(*value->type())));
  }
  const std::optional<c10::IValue> constant = jit::toIValue(value);
  if (!constant) {
    return CannotRepresent(*node, absl::StrCat("a constant of type ", TypeText(*value->type())));
  }
  if (program_.HasIdentity(value)) {
    return CannotRepresent(*node, "a constant list or dict that is changed in place");
  }
  ASSIGN_OR_RETURN(const Argument literal, Literal(*constant, "", ""));
  return values_[value] = literal;
}

absl::StatusOr<Argument> GraphImporter::Operand(const jit::Value* value) {
  ASSIGN_OR_RETURN(const Argument found, Lookup(value));
  return Localize(found);
}

absl::StatusOr<std::vector<Argument>> GraphImporter::Operands(
    at::ArrayRef<const jit::Value*> values) {
  std::vector<Argument> out;
  out.reserve(values.size());
  for (const jit::Value* value : values) {
    ASSIGN_OR_RETURN(const Argument operand, Operand(value));
    out.push_back(operand);
  }
  return out;
}

Argument GraphImporter::Localize(const Argument& argument) {
  if (argument.is_node()) return Localize(argument.node(), scope_);
  if (!argument.is_aggregate()) return argument;
  bool foreign = false;
  ForEachArgument(argument, [&](const Argument& a) {
    foreign |= a.is_node() && a.node()->graph() != scope_->graph;
  });
  if (!foreign) return argument;
  std::vector<Argument> elements;
  elements.reserve(argument.elements().size());
  for (const Argument& element : argument.elements()) elements.push_back(Localize(element));
  return Keep(argument.kind(), elements);
}

Node* GraphImporter::Localize(Node* node, Scope* scope) {
  if (node->graph() == scope->graph) return node;
  if (const auto it = scope->inner.find(node); it != scope->inner.end()) return it->second;
  Node* outer = Localize(node, scope->parent);
  TakeCaptures(scope);
  if (!scope->inner.contains(outer)) {
    scope->captures->push_back(outer);
    TakeCaptures(scope);
  }
  Node* const found = scope->inner[outer];
  scope->inner[node] = found;
  return found;
}

absl::StatusOr<Argument> GraphImporter::Literal(const c10::IValue& value, const std::string& path,
                                                absl::string_view annotation, int depth) {
  if (depth > kMaxNesting) {
    return CannotRepresent(*current_, absl::StrCat("constants nest deeper than ", kMaxNesting));
  }
  std::complex<double> complex;
  if (const std::optional<Argument> argument = ArgumentOf(value, &complex)) {
    if (argument->is_string()) return Keep(argument->string());
    if (argument->kind() != Argument::Kind::kComplex) return *argument;
    return Argument(arena_.New<std::complex<double>>(complex));
  }
  if (value.isEnum()) {
    // A program only compares an enum, or reads its name and value.
    const auto& member = value.toEnumHolder();
    return Keep(absl::string_view(absl::StrCat(member->qualifiedClassName(), ".", member->name())));
  }
  if (value.isTensor() && value.toTensor().defined() && value.toTensor().is_quantized()) {
    return QuantisedTensor(value.toTensor(), path);
  }
  if (value.isObject() && IsPackedParameters(value.toObjectRef().name())) {
    return PackedParameters(value, path);
  }
  if (value.isTensor()) {
    const absl::StatusOr<absl::string_view> name =
        path.empty() ? attributes_.AddConstant(value.toTensor())
                     : attributes_.Add(value.toTensor(), path, annotation);
    if (!name.ok()) return CannotRepresent(*current_, name.status().message());
    return GetAttrNode(*name);
  }
  std::vector<Argument> elements;
  const auto add = [&](const c10::IValue& element, absl::string_view key) -> absl::Status {
    const std::string inner = path.empty() ? "" : absl::StrCat(path, ".", key);
    ASSIGN_OR_RETURN(const Argument argument, Literal(element, inner, annotation, depth + 1));
    elements.push_back(argument);
    return absl::OkStatus();
  };
  if (value.isList() || value.isTuple()) {
    const at::ArrayRef<c10::IValue> from =
        value.isList() ? value.toListRef() : value.toTupleRef().elements().asArrayRef();
    for (const c10::IValue& element : from) {
      RETURN_IF_ERROR(add(element, absl::StrCat(elements.size())));
    }
    return Keep(value.isList() ? Argument::Kind::kList : Argument::Kind::kTuple, elements);
  }
  if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      if (entry.key().isTensor()) return CannotRepresent(*current_, "a dict has tensors as keys");
      RETURN_IF_ERROR(add(entry.key(), ""));
      const bool named = entry.key().isString();
      RETURN_IF_ERROR(add(entry.value(),
                          named ? entry.key().toStringRef() : absl::StrCat(elements.size() / 2)));
    }
    return Keep(Argument::Kind::kDict, elements);
  }
  return CannotRepresent(*current_, absl::StrCat("a constant of kind ", value.tagKind()));
}

Node* GraphImporter::GetAttrNode(absl::string_view attribute) {
  Node*& node = get_attrs_[attribute];
  if (node == nullptr) {
    node = main_->graph->GetAttr(attribute, attribute);
    if (const TensorMeta* meta = module_.FindAttribute(attribute)->meta) {
      node->set_meta(module_.InternValueMeta(*meta));
    }
  }
  return node;
}

absl::StatusOr<Argument> GraphImporter::AttributeValue(const Program::Object& object,
                                                       const std::string& name) {
  const auto& type = object.object->type();
  const std::optional<size_t> slot = type->findAttributeSlot(name);
  if (!slot) return CannotRepresent(*current_, absl::StrCat("the object has no attribute ", name));
  const absl::string_view annotation =
      type->is_parameter(*slot) ? kParameterAnnotation : "torch.Tensor";
  return Literal(object.object->getSlot(*slot),
                 object.path->empty() ? name : absl::StrCat(*object.path, ".", name), annotation);
}

// --- Emitting ----------------------------------------------------------------

Node* GraphImporter::Emit(absl::string_view target, absl::Span<const Argument> args,
                          absl::Span<const KwArg> kwargs, absl::string_view name) {
  for (const Argument& arg : args) num_elements_ += SizeOf(arg).elements;
  too_large_ |= num_elements_ > kMaxAllElements;
  if (too_large_) args = {};  // ImportBlock reports it after this node.
  Node* node = scope_->graph->CallFunction(target, args, kwargs, name);
  const Place place = PlaceOf(*current_);
  node->set_location(
      {place.file, static_cast<uint32_t>(place.line), static_cast<uint32_t>(place.column)});
  if (const std::string path = program_.ModulePath(current_); !path.empty()) {
    node->set_module_path(path);
  }
  return node;
}

void GraphImporter::Describe(Node* node, const jit::Value* value) {
  types_[node] = value->type().get();
  const auto* type = value->type()->castRaw<c10::TensorType>();
  if (type == nullptr) return;
  TensorMeta meta;
  std::vector<Dim> shape;
  if (MetaOfType(*type, &meta, &shape)) node->set_meta(module_.InternValueMeta(meta));
}

void GraphImporter::SetResult(const jit::Node* node, Node* result) {
  if (node->outputs().size() > 1) return SetElements(node, result, 0);
  if (node->outputs().empty()) return;
  values_[node->output()] = result;
  Describe(result, node->output());
}

void GraphImporter::SetElements(const jit::Node* node, Node* tuple, int first) {
  for (size_t i = 0; i < node->outputs().size(); ++i) {
    const jit::Value* output = node->output(i);
    if (!output->hasUses()) continue;
    values_[output] = GetItem(tuple, static_cast<int64_t>(i) + first, output);
  }
}

Argument GraphImporter::GetItem(const Argument& tuple, const Argument& index,
                                const jit::Value* value) {
  Node* item = Emit("operator.getitem", {tuple, index}, {}, NameOf(value));
  Describe(item, value);
  return item;
}

// --- Operators ---------------------------------------------------------------

absl::StatusOr<bool> GraphImporter::Fold(const jit::Node* node) {
  const bool of_enums =
      !node->inputs().empty() && node->input(0)->type()->kind() == c10::TypeKind::EnumType;
  if ((!options_.fold_branches && !of_enums) || node->outputs().size() != 1) return false;
  const c10::Symbol kind = node->kind();
  const bool is = kind == aten::__is__ || kind == aten::__isnot__;
  if (!is && kind != aten::__not__ && kind != aten::eq && kind != aten::ne && kind != aten::lt &&
      kind != aten::le && kind != aten::gt && kind != aten::ge) {
    return false;
  }
  std::vector<Argument> args;
  for (const jit::Value* value : node->inputs()) {
    ASSIGN_OR_RETURN(const Argument arg, Lookup(value));
    args.push_back(arg);
  }
  std::optional<bool> result;
  if (of_enums && args.size() == 2) {
    result = Compare(is ? kind == aten::__is__ ? aten::eq : aten::ne : kind, args[0], args[1]);
  } else if (is && args.size() == 2) {
    // For each operand: is it None? nullopt if that is not known yet.
    std::optional<bool> none[2];
    for (int i = 0; i < 2; ++i) {
      const c10::TypeKind type = node->input(i)->type()->kind();
      if (!args[i].is_node()) {
        none[i] = args[i].is_none();
      } else if (args[i].node()->op() == Op::kGetAttr || type == c10::TypeKind::TensorType ||
                 type == c10::TypeKind::ListType || type == c10::TypeKind::DictType) {
        none[i] = false;
      }
    }
    if (none[0] && none[1] && (*none[0] || *none[1])) {
      result = (*none[0] && *none[1]) == (kind == aten::__is__);
    }
  } else if (kind == aten::__not__ && args.size() == 1 && args[0].is_bool()) {
    result = !args[0].boolean();
  } else if (args.size() == 2) {
    result = Compare(kind, args[0], args[1]);
  }
  if (!result) return false;
  values_[node->output()] = *result;
  return true;
}

absl::Status GraphImporter::ImportEnum(const jit::Node* node) {
  const jit::Value* value = node->input(0);
  std::optional<c10::IValue> member = jit::toIValue(value);
  if (value->node()->kind() == prim::GetAttr) {
    if (const Program::Object* object = program_.FindObject(value->node()->input(0)))
      member = object->object->getAttr(value->node()->s(attr::name));
  }
  if (!member || !member->isEnum()) return CannotRepresent(*node, "the enum is not known");
  const auto& holder = member->toEnumHolder();
  ASSIGN_OR_RETURN(
      values_[node->output()],
      Literal(node->kind() == prim::EnumName ? c10::IValue(holder->name()) : holder->value(), "",
              ""));
  return absl::OkStatus();
}

absl::Status GraphImporter::ImportCall(const jit::Node* node) {
  ASSIGN_OR_RETURN(const bool folded, Fold(node));
  if (folded) return absl::OkStatus();
  if (!node->blocks().empty() || (node->hasAttributes() && node->kind() != aten::warn)) {
    return CannotRepresent(*node, "it has attributes or blocks that the IR cannot hold");
  }
  // The future of a fork is replaced by its value. Other futures cannot be represented.
  const auto is_future = [](const jit::Value* value) { return HoldsFuture(*value->type()); };
  if (absl::c_any_of(node->outputs(), is_future) && absl::c_none_of(node->inputs(), is_future)) {
    return CannotRepresent(*node, "it returns a future");
  }
  const std::string name = node->outputs().size() == 1 ? NameOf(node->output()) : "";
  ASSIGN_OR_RETURN(std::vector<Argument> args, Operands(node->inputs()));
  const c10::FunctionSchema* schema = node->maybeSchema();
  if (schema == nullptr) return CannotRepresent(*node, "LibTorch does not have this operator");
  if (schema->is_varret()) {
    Node* call = Emit(TargetOf(*node), args, {}, name);
    if (node->outputs().size() == 1) call->set_annotation(TypeText(*node->output()->type()));
    SetResult(node, call);
    return absl::OkStatus();
  }
  const auto literal = [this](const c10::IValue& value) { return Literal(value, "", ""); };
  ASSIGN_OR_RETURN(const CallForm call, operators_.Form(*node, std::move(args), literal));
  SetResult(node, Emit(call.target, call.args, call.kwargs, name));
  return absl::OkStatus();
}

}  // namespace graphnet::torchscript

// Writes calls but those with bodies; see graph_exporter.h.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/formats/pt2/graph_exporter.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/out_overload.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet::pt2 {
namespace {

using Kind = ExportValue::Kind;
using SchemaKind = SchemaType::Kind;

// Sizes of more terms are not written; each becomes a new symbol.
constexpr uint64_t kMaxSizeTerms = 1024;
bool IsSymbolic(absl::string_view target) {
  return absl::StartsWith(target, "operator.") || absl::StartsWith(target, "_operator.") ||
         absl::StartsWith(target, "math.") || absl::StartsWith(target, "torch.sym_") ||
         absl::StartsWith(target, "torch._sym_");
}

// Returns the kind of number that a function of numbers returns.
Kind NumberKind(absl::string_view function, absl::Span<const ExportValue> args) {
  const absl::string_view name = function.substr(function.rfind('.') + 1);
  for (const absl::string_view is_bool :
       {"eq", "ne", "lt", "le", "gt", "ge", "not_", "sym_not", "is_", "is_not"}) {
    if (name == is_bool) return Kind::kBool;
  }
  for (const absl::string_view is_int : {"ceil", "floor", "trunc", "sym_int"}) {
    if (name == is_int) return Kind::kInt;
  }
  for (const absl::string_view is_float :
       {"truediv", "sym_float", "sqrt", "sym_sqrt", "_sym_sqrt"}) {
    if (name == is_float) return Kind::kFloat;
  }
  bool all_bools = !args.empty();
  for (const ExportValue& arg : args) {
    if (arg.kind == Kind::kFloat || (arg.is_literal() && arg.literal.is_float())) {
      return Kind::kFloat;
    }
    all_bools =
        all_bools && (arg.kind == Kind::kBool || (arg.is_literal() && arg.literal.is_bool()));
  }
  const bool is_logical = name == "and_" || name == "or_" || name == "xor";
  return all_bools && is_logical ? Kind::kBool : Kind::kInt;
}

std::optional<SymExpr::Kind> SizeFunction(absl::string_view function) {
  const absl::string_view name = function.substr(function.rfind('.') + 1);
  if (name == "add") return SymExpr::Kind::kAdd;
  if (name == "sub") return SymExpr::Kind::kSub;
  if (name == "mul") return SymExpr::Kind::kMul;
  if (name == "floordiv") return SymExpr::Kind::kFloorDiv;
  if (name == "mod") return SymExpr::Kind::kMod;
  if (name == "sym_max") return SymExpr::Kind::kMax;
  if (name == "sym_min") return SymExpr::Kind::kMin;
  if (name == "eq") return SymExpr::Kind::kEq;
  if (name == "ne") return SymExpr::Kind::kNe;
  if (name == "lt") return SymExpr::Kind::kLt;
  if (name == "le") return SymExpr::Kind::kLe;
  if (name == "gt") return SymExpr::Kind::kGt;
  if (name == "ge") return SymExpr::Kind::kGe;
  return std::nullopt;
}

// Returns Python's function for TorchScript's operator on numbers; empty if there is none.
absl::string_view FunctionOf(absl::string_view target) {
  absl::string_view name = target;
  if (!absl::ConsumePrefix(&name, "aten.")) return "";
  const size_t dot = name.find('.');
  if (dot == absl::string_view::npos) return "";
  const absl::string_view overload = name.substr(dot + 1);
  name = name.substr(0, dot);
  // Overloads without a name take the numbers that item() yields.
  const bool is_number = overload == "int" || overload == "float" || overload == "int_float" ||
                         overload == "float_int" || overload == "default";
  // TorchScript's powers of ints are floats, and Python's are not.
  if (!is_number || (name == "pow" && overload == "int")) return "";
  static constexpr std::pair<absl::string_view, absl::string_view> kFunctions[] = {
      {"add", "_operator.add"},
      {"sub", "_operator.sub"},
      {"mul", "_operator.mul"},
      {"div", "_operator.truediv"},
      {"floordiv", "_operator.floordiv"},
      {"remainder", "_operator.mod"},
      {"neg", "_operator.neg"},
      {"pow", "_operator.pow"},
      {"eq", "_operator.eq"},
      {"ne", "_operator.ne"},
      {"lt", "_operator.lt"},
      {"le", "_operator.le"},
      {"gt", "_operator.gt"},
      {"ge", "_operator.ge"},
      {"ceil", "math.ceil"},
      {"floor", "math.floor"}};
  for (const auto& [from, to] : kFunctions) {
    if (name == from) return to;
  }
  return "";
}

// Returns the first node that takes each of the `size` elements of `sequence`; null for an unused
// element. O(users + size).
std::vector<const Node*> ElementUsers(const Node& sequence, size_t size) {
  std::vector<const Node*> takers(size);
  for (const Node* user : sequence.users()) {
    if (!user->is_call_function("operator.getitem") || user->args().size() != 2) continue;
    const Argument& index = user->args()[1];
    if (!user->args()[0].is_node() || user->args()[0].node() != &sequence || !index.is_int()) {
      continue;
    }
    const auto count = static_cast<int64_t>(size);
    const int64_t i = index.integer() < 0 ? index.integer() + count : index.integer();
    if (i < 0 || i >= count) continue;
    const Node*& taker = takers[static_cast<size_t>(i)];
    if (taker == nullptr) taker = user;
  }
  return takers;
}

// True if the value of a call may be computed from the sizes of a tensor.
bool ReadsSizes(const Node& node) {
  absl::string_view name = node.target();
  if (name == "builtins.getattr" || name == "builtins.len" || name == "operator.getitem" ||
      name == "operator.setitem") {
    return true;
  }
  if (!absl::ConsumePrefix(&name, "aten.")) return false;
  name = name.substr(0, name.find('.'));
  for (const absl::string_view reader :
       {"size", "sym_size", "dim", "len", "numel", "sym_numel", "stride", "sym_stride"}) {
    if (name == reader) return true;
  }
  return false;
}

// Returns an element of a tuple or list; null if there is none.
const ExportValue* ElementOf(const ExportValue& whole, const Argument& index) {
  if (!whole.is_sequence() || !index.is_int()) return nullptr;
  const auto size = static_cast<int64_t>(whole.elements->size());
  const int64_t i = index.integer();
  if (i < -size || i >= size) return nullptr;
  return &(*whole.elements)[static_cast<size_t>(i < 0 ? i + size : i)];
}

}  // namespace

// --- Nodes -------------------------------------------------------------------

void GraphExporter::WriteMetadata(const Node* node, absl::string_view target,
                                  absl::string_view name, const Scope& scope, JsonWriter* json) {
  if (scope.original != nullptr) {
    const auto it = scope.original->nodes.find(name);
    Json was, metadata;
    if (it != scope.original->nodes.end() &&
        ReadFields(it->second, {{"target", &was}, {"metadata", &metadata}}).ok() &&
        was.is_string() && *was.String() == target) {
      return json->Copy(metadata);
    }
  }
  json->StartObject();
  if (node != nullptr) {
    const SourceLocation location = node->location();
    if (!location.file.empty() && !absl::StrContains(location.file, '"')) {
      json->Member("stack_trace")
          .String(
              absl::StrCat("  File \"", location.file, "\", line ", location.line, ", in forward"));
    }
    const absl::string_view path = node->module_path();
    if (!path.empty() && path.find_first_of(",;[]()") == absl::string_view::npos) {
      json->Member("nn_module_stack")
          .String(absl::StrCat("L__self__,,torch.nn.Module;", path, ",", path, ",torch.nn.Module"));
    }
  }
  json->EndObject();
}

void GraphExporter::WriteNode(const Node* node, absl::string_view target, absl::string_view inputs,
                              absl::string_view outputs, absl::string_view name,
                              std::optional<bool> is_single_tensor, Scope* scope) {
  JsonWriter& json = scope->nodes;
  json.StartObject();
  json.Member("target").String(target);
  json.Member("inputs").Raw(inputs);
  json.Member("outputs").Raw(outputs);
  WriteMetadata(node, target, name, *scope, &json.Member("metadata"));
  json.Member("is_hop_single_tensor_return");
  is_single_tensor ? json.Bool(*is_single_tensor) : json.Null();
  json.Member("name").String(name);
  json.EndObject();
}

absl::StatusOr<ExportValue> GraphExporter::ExportCall(const Node& node, Scope* scope) {
  if (node.op() == Op::kCallModule) return NodeError(node, "a call of a submodule");
  if (node.op() == Op::kCallMethod)
    return NodeError(node, "a method, which is not an ATen overload");
  if (node.is_call_function("operator.getitem") && node.args().size() == 2) {
    ASSIGN_OR_RETURN(const ExportValue whole, Resolve(node, node.args()[0], scope));
    if (const ExportValue* const element = ElementOf(whole, node.args()[1])) return *element;
    if (whole.is_sequence() && node.args()[1].is_int()) {
      return NodeError(node,
                       absl::StrCat("the sequence has no element ", node.args()[1].integer()));
    }
  }
  if (changed_sizes_ != nullptr && ReadsSizes(node)) {
    return NodeError(node, absl::StrCat("it reads the sizes of a tensor, which ",
                                        changed_sizes_->name(), " may have changed in place"));
  }
  if (ChangesSizes(node)) changed_sizes_ = &node;
  if (node.is_call_function("operator.getitem") && node.args().size() == 2) {
    ASSIGN_OR_RETURN(const ExportValue whole, Resolve(node, node.args()[0], scope));
    if (whole.is_tensor()) return ExportGetItem(node, whole, scope);
  }
  if (node.is_call_function("operator.setitem") && node.args().size() == 3) {
    ASSIGN_OR_RETURN(const ExportValue whole, Resolve(node, node.args()[0], scope));
    if (whole.is_tensor()) return ExportSetItem(node, whole, scope);
  }
  std::vector<ExportValue> args;
  for (const Argument& argument : node.args()) {
    ASSIGN_OR_RETURN(args.emplace_back(), Resolve(node, argument, scope));
  }
  if (node.is_call_function("torch.tensor") || absl::StartsWith(node.target(), "aten.tensor."))
    return ExportTensor(node, args, scope);
  ASSIGN_OR_RETURN(const std::optional<ExportValue> size, ExportSize(node, args, scope));
  if (size) return *size;
  const absl::string_view target = node.target();
  if (const std::string higher = HigherOrderTarget(target); !higher.empty()) {
    return ExportHigherOrder(node, higher, args, scope);
  }
  if (IsSymbolic(target)) {
    if (!node.kwargs().empty()) return NodeError(node, "it takes no keywords");
    if (absl::StartsWith(target, "operator.")) {
      return ExportNumbers(node, arena_.Copy(absl::string_view(absl::StrCat("_", target))), args,
                           scope);
    }
    return ExportNumbers(node, target, args, scope);
  }
  const Callable callee = CalleeOf(node);
  // Operators of ATen, of libraries, and those that PyTorch defines in Python.
  if (callee.named_operator() != nullptr ||
      (callee.kind == Callable::Kind::kFunction && absl::StartsWith(target, "torch.ops."))) {
    return ExportAten(node, callee.overloads[0], args, scope);
  }
  if (absl::StartsWith(target, "torch._functorch.predispatch.") ||
      absl::StartsWith(target, "torch._C._functorch.")) {
    return ExportHigherOrder(node, target, args, scope);
  }
  if (const std::optional<Schema> schema = OutOverload(node); schema)
    return ExportAten(node, *schema, args, scope);
  return ExportScriptOperator(node, args, scope);
}

// Exports a size of a tensor.
absl::StatusOr<std::optional<ExportValue>> GraphExporter::ExportSize(
    const Node& node, absl::Span<const ExportValue> args, Scope* scope) {
  const bool is_size = node.target() == "aten.size.int" || node.target() == "aten.sym_size.int";
  if (!is_size || args.size() != 2 || !node.kwargs().empty() || args[0].kind != Kind::kTensor)
    return std::optional<ExportValue>();
  constexpr absl::string_view kTarget = "torch.ops.aten.sym_size.int";
  const TensorMeta* const meta = args[0].meta;
  const SymExpr* size = nullptr;
  if (meta != nullptr && meta->has_shape && args[1].is_int()) {
    const auto rank = static_cast<int64_t>(meta->shape.size());
    const int64_t dim = args[1].literal.integer();
    const int64_t i = dim < 0 ? dim + rank : dim;
    if (i < 0 || i >= rank) return NodeError(node, "the dimension is out of range");
    if (!sizes_of_run_.Has(node)) {
      if (meta->shape[i].is_static()) return ExportValue(Argument(meta->shape[i].value));
      size = SizeOf(meta->shape[i]);
    }
  }
  JsonWriter inputs, outputs;
  inputs.StartArray();
  RETURN_IF_ERROR(WriteInput(node, "self", kPositional, args[0], nullptr, scope, &inputs));
  RETURN_IF_ERROR(WriteInput(node, "dim", kPositional, args[1], nullptr, scope, &inputs));
  inputs.EndArray();
  const absl::string_view name = NameOf(node, scope);
  ExportValue made = AddNumber(Kind::kInt, name, kTarget, size, scope);
  outputs.StartArray();
  RETURN_IF_ERROR(WriteArgument(node, made, nullptr, scope, &outputs));
  outputs.EndArray();
  WriteNode(&node, kTarget, inputs.text(), outputs.text(), name, std::nullopt, scope);
  return made;
}

absl::StatusOr<ExportValue> GraphExporter::ExportNumbers(const Node& node,
                                                         absl::string_view function,
                                                         absl::Span<const ExportValue> args,
                                                         Scope* scope) {
  for (const ExportValue& arg : args) {
    const bool is_number = arg.is_number() || arg.kind == Kind::kInt || arg.kind == Kind::kFloat ||
                           arg.kind == Kind::kBool;
    // Some models make a list of one None per layer and never use it.
    if (arg.is_sequence() && function == "_operator.mul" && !node.has_uses()) return ExportValue();
    if (!is_number && !(arg.is_sequence() && function == "torch.sym_sum")) {
      return NodeError(node, "torch.export supports it for numbers only");
    }
  }
  const Kind kind = NumberKind(function, args);
  const SymExpr* size = nullptr;
  const auto size_of = [&](const ExportValue& value) {
    return value.is_int() ? scratch_.SymInt(value.literal.integer()) : value.size;
  };
  if (const auto combine = SizeFunction(function); combine && args.size() == 2) {
    const SymExpr* const lhs = size_of(args[0]);
    const SymExpr* const rhs = size_of(args[1]);
    if (lhs != nullptr && rhs != nullptr) size = scratch_.SymBinary(*combine, lhs, rhs);
  } else if (absl::EndsWith(function, ".neg") && args.size() == 1 && size_of(args[0])) {
    size = scratch_.SymNeg(size_of(args[0]));
  }
  if (size != nullptr) {
    const std::optional<Expansion> all = sizes_.Of(size, SymParts());
    if (!all || all->size > kMaxSizeTerms || all->height > kMaxNesting / 2 ||
        !size_terms_.Charge(all->size)) {
      size = nullptr;
    }
  }
  JsonWriter inputs, outputs;
  inputs.StartArray();
  for (size_t i = 0; i < args.size(); ++i) {
    RETURN_IF_ERROR(
        WriteInput(node, i == 0 ? "a" : "b", kPositional, args[i], nullptr, scope, &inputs));
  }
  inputs.EndArray();
  const absl::string_view name = NameOf(node, scope);
  ExportValue value = AddNumber(kind, name, function, kind == Kind::kFloat ? nullptr : size, scope);
  outputs.StartArray();
  RETURN_IF_ERROR(WriteArgument(node, value, nullptr, scope, &outputs));
  outputs.EndArray();
  WriteNode(&node, function, inputs.text(), outputs.text(), name, std::nullopt, scope);
  return value;
}

absl::StatusOr<ExportValue> GraphExporter::ExportAten(const Node& node, const Schema& schema,
                                                      absl::Span<const ExportValue> args,
                                                      Scope* scope) {
  JsonWriter inputs, outputs;
  std::vector<std::pair<absl::string_view, ExportValue>> kwargs;
  inputs.StartArray();
  if (args.size() > schema.arguments.size()) return NodeError(node, "it has too many arguments");
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const SchemaArgument& argument = schema.arguments[i];
    const Argument* const keyword = node.kwarg(argument.name);
    if (keyword == nullptr && i >= args.size()) {
      if (argument.has_default) continue;
      return NodeError(node, absl::StrCat("it lacks the argument ", argument.name));
    }
    ExportValue value = keyword == nullptr ? args[i] : ExportValue();
    if (keyword != nullptr) {
      ASSIGN_OR_RETURN(value, Resolve(node, *keyword, scope));
      kwargs.emplace_back(argument.name, value);
    }
    ASSIGN_OR_RETURN(value, AsNumbers(node, value, argument.type, scope));
    // PyTorch expands one number for all dimensions to one number per dimension.
    if (argument.type.is_list && argument.type.list_size > 0 &&
        (value.is_int() || value.kind == Kind::kInt)) {
      value = ExportValue::Sequence(
          Kind::kList, ExportValue::Elements(static_cast<size_t>(argument.type.list_size), value));
    }
    const bool is_keyword = keyword != nullptr || argument.keyword_only;
    RETURN_IF_ERROR(WriteInput(node, argument.name, is_keyword ? kKeyword : kPositional, value,
                               &argument.type, scope, &inputs));
  }
  inputs.EndArray();

  const std::string target = absl::StrCat(schema.is_python ? "" : "torch.ops.", schema.target);
  const absl::string_view name = NameOf(node, scope);
  const ValueMeta* meta = node.meta();
  // A tensor that a call is given for its result tells what the result is.
  if (const auto out = absl::c_find_if(kwargs, [](const auto& k) { return k.first == "out"; });
      out != kwargs.end() && (meta == nullptr || !IsKnown(meta->tensor)) &&
      out->second.kind == Kind::kTensor && out->second.meta != nullptr) {
    meta = scratch_.InternValueMeta(*out->second.meta);
  }
  ExportValue result;
  outputs.StartArray();
  if (schema.returns.size() == 1 && !schema.returns[0].is_list) {
    ASSIGN_OR_RETURN(result, AddElement(node, &node, meta, &schema.returns[0], std::string(name),
                                        scope, &outputs));
  } else if (schema.returns.size() == 1) {
    if (schema.returns[0].kind != SchemaKind::kTensor) {
      return NodeError(node, "torch.export does not support lists of numbers as results");
    }
    if (meta == nullptr || !meta->is_tuple) {
      return NodeError(node, "the number of its results is not known; `graphnet shapes` says why");
    }
    JsonWriter list;
    list.StartArray();
    const std::vector<SchemaType> types(meta->elements.size(),
                                        SchemaType{.kind = SchemaKind::kTensor});
    ASSIGN_OR_RETURN(result, AddElements(node, &node, meta, types, name, scope, &list));
    list.EndArray();
    // {"name": …}, where an Argument would be {"as_tensor": {"name": …}}.
    JsonWriter tensors;
    tensors.StartArray();
    for (const ExportValue& element : *result.elements) {
      tensors.StartObject();
      tensors.Member("name").String(element.name);
      tensors.EndObject();
    }
    tensors.EndArray();
    outputs.StartObject();
    outputs.Member("as_tensors").Raw(tensors.text());
    outputs.EndObject();
  } else if (!schema.returns.empty()) {
    ASSIGN_OR_RETURN(result, AddElements(node, &node, meta, schema.returns, name, scope, &outputs));
  }
  outputs.EndArray();
  WriteNode(&node, target, inputs.text(), outputs.text(), name, std::nullopt, scope);
  return result;
}

absl::StatusOr<ExportValue> GraphExporter::AsNumbers(const Node& node, const ExportValue& value,
                                                     const SchemaType& type, Scope* scope) {
  const bool is_int = type.kind == SchemaKind::kInt;
  if (!is_int && type.kind != SchemaKind::kFloat && type.kind != SchemaKind::kScalar) return value;
  const auto is_tensor = [](const ExportValue& element) { return element.is_tensor(); };
  if (value.is_sequence() && absl::c_any_of(*value.elements, is_tensor)) {
    ExportValue::Elements elements;
    for (const ExportValue& element : *value.elements) {
      if (element.elements != nullptr) return value;
      ASSIGN_OR_RETURN(elements.emplace_back(), AsNumbers(node, element, type, scope));
    }
    return ExportValue::Sequence(value.kind, std::move(elements));
  }
  if (value.kind != Kind::kTensor || !IsKnown(value.meta) || !value.meta->has_shape ||
      !value.meta->shape.empty())
    return value;
  const DType dtype = value.meta->dtype;
  const Kind kind = IsFloatingPoint(dtype)  ? Kind::kFloat
                    : dtype == DType::kBool ? Kind::kBool
                                            : Kind::kInt;
  if (is_int && kind != Kind::kInt) return value;
  constexpr absl::string_view kItem = "torch.ops.aten.item.default";
  const absl::string_view name = arena_.Copy(absl::string_view(Unique("item", scope)));
  JsonWriter inputs, outputs;
  inputs.StartArray();
  RETURN_IF_ERROR(WriteInput(node, "self", kPositional, value, nullptr, scope, &inputs));
  inputs.EndArray();
  ExportValue number = AddNumber(kind, name, kItem, nullptr, scope);
  outputs.StartArray();
  RETURN_IF_ERROR(WriteArgument(node, number, nullptr, scope, &outputs));
  outputs.EndArray();
  WriteNode(&node, kItem, inputs.text(), outputs.text(), name, std::nullopt, scope);
  return number;
}

absl::StatusOr<ExportValue> GraphExporter::AddElements(const Node& call, const Node* value,
                                                       const ValueMeta* meta,
                                                       absl::Span<const SchemaType> types,
                                                       absl::string_view prefix, Scope* scope,
                                                       JsonWriter* outputs) {
  ExportValue::Elements elements;
  std::vector<const Node*> users(types.size());
  if (value != nullptr) users = ElementUsers(*value, types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const Node* const user = users[i];
    const ValueMeta* known = meta != nullptr && meta->is_tuple && i < meta->elements.size()
                                 ? meta->elements[i]
                                 : nullptr;
    const bool is_known = known != nullptr && (known->is_tuple || IsKnown(known->tensor));
    if (!is_known && user != nullptr && user->meta() != nullptr) known = user->meta();
    ASSIGN_OR_RETURN(elements.emplace_back(),
                     AddElement(call, user, known, &types[i], absl::StrCat(prefix, "_unused_", i),
                                scope, outputs));
  }
  return ExportValue::Sequence(Kind::kTuple, std::move(elements));
}

absl::StatusOr<ExportValue> GraphExporter::AddElement(const Node& call, const Node* user,
                                                      const ValueMeta* meta, const SchemaType* type,
                                                      const std::string& unused, Scope* scope,
                                                      JsonWriter* outputs) {
  const auto name = [&]() -> absl::string_view {
    if (user == &call) return arena_.Copy(absl::string_view(unused));
    if (user != nullptr) return NameOf(*user, scope);
    return arena_.Copy(absl::string_view(Unique(unused, scope)));
  };
  const bool is_list = (meta != nullptr && meta->is_tuple) || type->is_list;
  const std::string target = absl::StartsWith(call.target(), "aten.")
                                 ? absl::StrCat("torch.ops.", call.target())
                                 : std::string(call.target());
  ExportValue value;
  if (is_list) {
    if (meta == nullptr || !meta->is_tuple) {
      return NodeError(call, "the number of its results is not known; `graphnet shapes` says why");
    }
    const std::vector<SchemaType> types(meta->elements.size(),
                                        SchemaType{.kind = SchemaKind::kTensor});
    JsonWriter list;
    list.StartArray();
    ASSIGN_OR_RETURN(value, AddElements(call, user, meta, types, unused, scope, &list));
    outputs->StartObject();
    outputs->Member("as_tensors").StartArray();
    for (const ExportValue& element : *value.elements) {
      outputs->StartObject();
      outputs->Member("name").String(element.name);
      outputs->EndObject();
    }
    outputs->EndArray();
    outputs->EndObject();
    return value;
  }
  const TensorMeta* const tensor = meta == nullptr ? nullptr : meta->tensor;
  Kind kind = Kind::kTensor;
  if (type->kind == SchemaKind::kInt) kind = Kind::kInt;
  if (type->kind == SchemaKind::kFloat) kind = Kind::kFloat;
  if (type->kind == SchemaKind::kBool) kind = Kind::kBool;
  if (type->kind == SchemaKind::kScalar) {
    // The number that item() returns has the kind of the tensor's elements.
    kind = Kind::kFloat;
    if (!call.args().empty() && call.args()[0].is_node()) {
      const TensorMeta* const of = call.args()[0].node()->tensor_meta();
      if (of != nullptr && !IsFloatingPoint(of->dtype)) {
        kind = of->dtype == DType::kBool ? Kind::kBool : Kind::kInt;
      }
    }
  }
  if (type->kind == SchemaKind::kAny && !IsKnown(tensor)) {
    // Results of a higher-order call are described as in the original program.
    const absl::string_view known = user == nullptr ? absl::string_view(unused) : user->name();
    const Original::Tables* const tables = scope->original;
    if (tables != nullptr && tables->ints.contains(known)) kind = Kind::kInt;
    if (tables != nullptr && tables->floats.contains(known)) kind = Kind::kFloat;
    if (tables != nullptr && tables->bools.contains(known)) kind = Kind::kBool;
  }
  if (kind == Kind::kTensor) {
    if (!IsKnown(tensor) && (user == nullptr || !user->has_uses())) {
      // The call returns nothing, or its result is unused.
      outputs->Raw(R"({"as_none":true})");
      return ExportValue();
    }
    ASSIGN_OR_RETURN(value, AddTensor(name(), tensor, user == nullptr ? call : *user, scope));
  } else if (type->kind != SchemaKind::kOther && type->kind != SchemaKind::kString) {
    value = AddNumber(kind, name(), target, nullptr, scope);
  } else {
    return NodeError(call, "torch.export does not support results of this type");
  }
  RETURN_IF_ERROR(WriteArgument(call, value, nullptr, scope, outputs));
  return value;
}

// Exports TorchScript's own operators as the operators that PyTorch has for them.
absl::StatusOr<ExportValue> GraphExporter::ExportScriptOperator(const Node& node,
                                                                absl::Span<const ExportValue> args,
                                                                Scope* scope) {
  const absl::string_view target = node.target();
  if (const absl::string_view function = FunctionOf(target); !function.empty()) {
    return ExportNumbers(node, function, args, scope);
  }
  // Conversions of numbers that are known only at run time.
  if (args.size() == 1 && absl::EndsWith(target, ".Scalar")) {
    const bool is_int = target == "aten.Int.Scalar", is_float = target == "aten.Float.Scalar";
    if ((is_int && args[0].kind == Kind::kInt) || (is_float && args[0].kind == Kind::kFloat))
      return args[0];
    if (is_float && args[0].kind == Kind::kInt)
      return ExportNumbers(node, "torch.sym_float", args, scope);
    if (is_int && args[0].kind == Kind::kFloat)
      return ExportNumbers(node, "math.trunc", args, scope);
  }
  // Conversions of tensors of one element to numbers, and back.
  const Kind kind = target == "aten.Int.Tensor"     ? Kind::kInt
                    : target == "aten.Float.Tensor" ? Kind::kFloat
                    : target == "aten.Bool.Tensor"  ? Kind::kBool
                                                    : Kind::kTensor;
  JsonWriter inputs, outputs;
  const absl::string_view name = NameOf(node, scope);
  if (kind != Kind::kTensor && args.size() == 1 && args[0].kind == Kind::kTensor) {
    inputs.StartArray();
    RETURN_IF_ERROR(WriteInput(node, "self", kPositional, args[0], nullptr, scope, &inputs));
    inputs.EndArray();
    ExportValue value = AddNumber(kind, name, "torch.ops.aten.item.default", nullptr, scope);
    outputs.StartArray();
    RETURN_IF_ERROR(WriteArgument(node, value, nullptr, scope, &outputs));
    outputs.EndArray();
    WriteNode(&node, "torch.ops.aten.item.default", inputs.text(), outputs.text(), name,
              std::nullopt, scope);
    return value;
  }
  if (target == "prim.NumToTensor.Scalar" && args.size() == 1 &&
      (args[0].kind == Kind::kInt || args[0].is_int())) {
    inputs.StartArray();
    RETURN_IF_ERROR(WriteInput(node, "s", kPositional, args[0], nullptr, scope, &inputs));
    RETURN_IF_ERROR(
        WriteInput(node, "dtype", kKeyword, Argument(DType::kInt64), nullptr, scope, &inputs));
    inputs.EndArray();
    const ValueMeta* const meta =
        scratch_.InternValueMeta({.dtype = DType::kInt64, .has_device = true, .has_shape = true});
    ASSIGN_OR_RETURN(ExportValue value, AddTensor(name, meta->tensor, node, scope));
    outputs.StartArray();
    RETURN_IF_ERROR(WriteArgument(node, value, nullptr, scope, &outputs));
    outputs.EndArray();
    WriteNode(&node, "torch.ops.aten.scalar_tensor.default", inputs.text(), outputs.text(), name,
              std::nullopt, scope);
    return value;
  }
  if (target == "prim.GetAttr" || target == "prim.SetAttr") {
    return NodeError(node,
                     "the program assigns this attribute in a branch or loop that depends on data, "
                     "and torch.export has no such state");
  }
  if (target == "prim.RaiseException.default") {
    return NodeError(node, "it is reached with the known inputs, and raises");
  }
  if (absl::c_any_of(args, [](const ExportValue& value) {
        return value.elements != nullptr || value.is_string();
      }))
    return NodeError(node,
                     "torch.export does not support this call, and it is not known ahead of time");
  return NodeError(node, "torch.export does not support this call");
}

}  // namespace graphnet::pt2

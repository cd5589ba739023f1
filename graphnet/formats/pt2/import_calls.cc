// Imports calls and their arguments.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/pt2/bind_inputs.h"
#include "graphnet/formats/pt2/graph_importer.h"
#include "graphnet/formats/pt2/json.h"
#include "graphnet/formats/pt2/schema.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/operator_names.h"
#include "graphnet/ops/schema.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet::pt2 {
namespace {

constexpr absl::string_view kHigherOrder = "torch.ops.higher_order.";
// Orders the effects of calls in a program whose calls may be moved.
constexpr absl::string_view kWithEffects = "torch.ops.higher_order.with_effects";

// Returns the operator's schema, nullptr if it has none. Higher-order calls have none.
const Schema* SchemaOf(absl::string_view target) {
  if (!absl::StartsWith(target, "torch.ops.") || absl::StartsWith(target, kHigherOrder)) {
    return nullptr;
  }
  if (const Schema* const schema = FindOverload(target)) return schema;
  const Callable callee = FindCallable(Op::kCallFunction, target);
  const bool has_schema =
      callee.kind == Callable::Kind::kFunction || callee.kind == Callable::Kind::kForeign;
  return has_schema && !callee.overloads.empty() ? callee.overloads.data() : nullptr;
}

// Checks that an operator returns as many values as its schema says.
absl::Status CheckNumOutputs(const Schema* schema, Json outputs) {
  if (schema == nullptr || outputs.size() == 0) return absl::OkStatus();
  const size_t returns = schema->returns.size();
  if (outputs.size() == returns || (returns == 0 && outputs.size() == 1)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("it has ", outputs.size(), " outputs, the operator ", returns));
}

// Returns the target as nodes of the IR write it.
std::string TargetOf(absl::string_view target) {
  if (absl::ConsumePrefix(&target, "torch.ops.aten.")) return absl::StrCat("aten.", target);
  if (absl::StartsWith(target, "_operator.")) target.remove_prefix(1);
  return std::string(target);
}

// True for calls on numbers that may be symbols: their arguments all go by position.
bool IsSymbolicCall(absl::string_view target) {
  return target == "torch.ops.aten.item.default" || absl::StartsWith(target, "_operator.") ||
         absl::StartsWith(target, "math.") || absl::StartsWith(target, "torch.sym_") ||
         absl::StartsWith(target, "torch._sym_");
}

// Returns the last "path" and line of a Python stack trace:
//   File "/usr/lib/python3/torch/nn/modules/linear.py", line 134, in forward
SourceLocation LastFrame(absl::string_view trace) {
  constexpr absl::string_view kFile = "File \"";
  const size_t at = trace.rfind(kFile);
  if (at == absl::string_view::npos) return {};
  trace.remove_prefix(at + kFile.size());
  const size_t end = trace.find('"');
  if (end == absl::string_view::npos) return {};
  SourceLocation location{.file = trace.substr(0, end)};
  trace.remove_prefix(end + 1);
  if (absl::ConsumePrefix(&trace, ", line ")) {
    uint32_t line = 0;
    const size_t digits = trace.find_first_not_of("0123456789");
    if (absl::SimpleAtoi(trace.substr(0, digits), &line)) location.line = line;
  }
  return location;
}

// Returns the path of the innermost module of "key,path,type;key,path,type".
absl::string_view InnermostPath(absl::string_view stack) {
  int open = 0;
  size_t begin = 0;
  for (size_t i = 0; i < stack.size(); ++i) {
    if (stack[i] == '[' || stack[i] == '(') ++open;
    if (stack[i] == ']' || stack[i] == ')') --open;
    if (stack[i] == ';' && open <= 0) begin = i + 1;
  }
  stack.remove_prefix(begin);
  std::vector<size_t> commas;
  open = 0;
  for (size_t i = 0; i < stack.size() && commas.size() < 2; ++i) {
    if (stack[i] == '[' || stack[i] == '(') ++open;
    if (stack[i] == ']' || stack[i] == ')') --open;
    if (stack[i] == ',' && open <= 0) commas.push_back(i);
  }
  if (commas.size() < 2) return {};
  absl::string_view path = stack.substr(commas[0] + 1, commas[1] - commas[0] - 1);
  // PyTorch writes this placeholder if there is no module.
  if (absl::StartsWith(path, "_empty_nn_module_stack")) return {};
  return path;
}

// True for texts, lists of constants, and numbers whose value is an object: no call returns those.
bool IsConstant(const JsonUnion& value) {
  for (const absl::string_view kind :
       {"as_string", "as_strings", "as_ints", "as_floats", "as_bools"}) {
    if (value.kind == kind) return true;
  }
  return value.value.is_there() && value.value.kind() == Json::Kind::kObject &&
         (value.kind == "as_int" || value.kind == "as_float" || value.kind == "as_bool");
}

}  // namespace

// --- Calls -------------------------------------------------------------------

void GraphImporter::Describe(Json metadata, Node* node) {
  metadata
      .ForEachMember([&](absl::string_view key, Json value) {
        const absl::StatusOr<absl::string_view> text = value.String();
        if (!text.ok()) return absl::OkStatus();
        if (key == "stack_trace") node->set_location(LastFrame(*text));
        if (key == "nn_module_stack") {
          const absl::string_view path = InnermostPath(*text);
          if (!path.empty() && path.size() <= kMaxNameBytes) node->set_module_path(path);
        }
        return absl::OkStatus();
      })
      .IgnoreError();
}

absl::Status GraphImporter::ImportNodes(Json nodes, Scope* scope) {
  RETURN_IF_ERROR(nodes.ExpectArray());
  size_t i = 0;
  for (const Json node : nodes.elements()) {
    scope->place = absl::StrCat(scope->depth == 0 ? "graph." : "", "nodes[", i++, "]");
    RETURN_IF_ERROR(ImportNode(node, scope));
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::ImportNode(Json json, Scope* scope) {
  Json target, inputs, outputs, metadata, single, name;
  RETURN_IF_ERROR(ReadFields(json, {{"target", &target},
                                    {"inputs", &inputs},
                                    {"outputs", &outputs},
                                    {"metadata", &metadata, false},
                                    {"is_hop_single_tensor_return", &single, false},
                                    {"name", &name, false}}));
  ASSIGN_OR_RETURN(const absl::string_view callee, target.String());
  absl::string_view label;
  if (!name.is_null()) {
    ASSIGN_OR_RETURN(label, name.String());
  }
  const auto import = [&]() -> absl::Status {
    if (callee.empty() || callee.size() > kMaxNameBytes)
      return absl::InvalidArgumentError("its target is empty or too long");
    if (OriginOfTarget(callee) == TargetOrigin::kMissing) {
      return absl::InvalidArgumentError(
          absl::StrCat("PyTorch has no operator ", Printable(callee)));
    }
    if (callee == kWithEffects) return ImportWithEffects(inputs, outputs, metadata, label, scope);
    std::vector<Argument> args;
    std::vector<KwArg> kwargs;
    RETURN_IF_ERROR(inputs.ExpectArray());
    const Schema* const schema = SchemaOf(callee);
    RETURN_IF_ERROR(ImportInputs(callee, schema, inputs.elements(), scope, &args, &kwargs));
    RETURN_IF_ERROR(outputs.ExpectArray());
    RETURN_IF_ERROR(CheckNumOutputs(schema, outputs));
    // A call that returns one value has the name of that value.
    absl::string_view called = label;
    bool is_tuple = absl::StartsWith(callee, kHigherOrder) && single.is_there();
    if (is_tuple && !single.is_null()) {
      ASSIGN_OR_RETURN(const bool is_single, single.Bool());
      is_tuple = !is_single;
    }
    if (outputs.size() == 1) {
      ASSIGN_OR_RETURN(const absl::string_view value, NameOfArgument(*outputs.elements().begin()));
      if (!value.empty() && !is_tuple) called = value;
    }
    if (called.size() > kMaxNameBytes) return absl::InvalidArgumentError("its name is too long");
    Node* const call = scope->graph->CallFunction(TargetOf(callee), args, kwargs, called);
    Describe(metadata, call);
    return ImportResults(call, outputs, is_tuple, scope);
  };
  absl::Status status = import();
  if (status.ok()) return status;
  return Annotate(status, absl::StrCat(scope->place, ": node ",
                                       label.empty() ? Printable(callee) : Printable(label)));
}

// with_effects(token, operator, *args) returns a token and the operator's results. Calls of a graph
// run in order, so the import calls the operator itself and drops the tokens.
absl::Status GraphImporter::ImportWithEffects(Json inputs, Json outputs, Json metadata,
                                              absl::string_view label, Scope* scope) {
  RETURN_IF_ERROR(inputs.ExpectArray());
  RETURN_IF_ERROR(outputs.ExpectArray());
  if (inputs.size() < 2 || outputs.size() < 1)
    return absl::InvalidArgumentError("it has no token or no operator");
  Json::Range rest = inputs.elements(), results = outputs.elements();
  Json token, callee;
  RETURN_IF_ERROR(ReadFields(*rest.first, {{"arg", &token}}));
  RETURN_IF_ERROR(ReadFields(*++rest.first, {{"arg", &callee}}));
  ++rest.first;
  ASSIGN_OR_RETURN(const absl::string_view taken, NameOfArgument(token));
  if (!scope->tokens.contains(taken))
    return absl::InvalidArgumentError(absl::StrCat(Printable(taken), " is not a token"));
  ASSIGN_OR_RETURN(const absl::string_view made, NameOfArgument(*results.first));
  if (made.empty() || scope->values.contains(made) || !scope->tokens.insert(made).second) {
    return absl::InvalidArgumentError(
        absl::StrCat("the token ", Printable(made), " is defined twice"));
  }
  ASSIGN_OR_RETURN(const JsonUnion named, ReadUnion(callee));
  if (named.kind != "as_operator")
    return absl::InvalidArgumentError("its second input is not an operator");
  ASSIGN_OR_RETURN(const absl::string_view target, named.value.String());
  if (target.empty() || target.size() > kMaxNameBytes)
    return absl::InvalidArgumentError("its operator is empty or too long");

  std::vector<Argument> args;
  std::vector<KwArg> kwargs;
  RETURN_IF_ERROR(ImportInputs(target, nullptr, rest, scope, &args, &kwargs));
  ++results.first;
  absl::string_view name = label;
  const bool is_one = outputs.size() == 2;
  if (is_one) {
    ASSIGN_OR_RETURN(const absl::string_view value, NameOfArgument(*results.first));
    if (!value.empty()) name = value;
  }
  if (name.size() > kMaxNameBytes) return absl::InvalidArgumentError("its name is too long");
  Node* const call = scope->graph->CallFunction(TargetOf(target), args, kwargs, name);
  Describe(metadata, call);
  if (is_one) return ImportResult(call, *results.first, scope);
  if (outputs.size() == 1) return absl::OkStatus();
  ASSIGN_OR_RETURN(const ValueMeta* const meta, AddElements(call, results, scope));
  call->set_meta(meta);
  return absl::OkStatus();
}

absl::Status GraphImporter::ImportInputs(absl::string_view target, const Schema* schema,
                                         Json::Range inputs, Scope* scope,
                                         std::vector<Argument>* args, std::vector<KwArg>* kwargs) {
  std::vector<NamedInput> given;
  const auto fail = [&](const absl::Status& status, size_t i, absl::string_view name) {
    absl::StrAppend(&scope->place, ".inputs[", i, "]");
    return name.empty() ? status : Annotate(status, absl::StrCat("input ", Printable(name)));
  };
  for (const Json input : inputs) {
    Json name, argument, kind;
    absl::Status status =
        ReadFields(input, {{"name", &name}, {"arg", &argument}, {"kind", &kind, false}});
    if (!status.ok()) return fail(status, given.size(), "");
    const absl::StatusOr<absl::string_view> text = name.String();
    if (!text.ok()) return fail(text.status(), given.size(), "");
    const absl::StatusOr<int64_t> number = kind.is_null() ? 0 : kind.Int();
    if (!number.ok()) return fail(number.status(), given.size(), *text);
    const absl::StatusOr<Argument> value = ReadArgument(argument, *scope);
    if (!value.ok()) return fail(value.status(), given.size(), *text);
    given.push_back({*text, *value, *number});
  }
  if (IsSymbolicCall(target)) {
    for (const NamedInput& input : given) args->push_back(input.value);
    return absl::OkStatus();
  }
  size_t at = 0;
  absl::Status status = schema == nullptr ? BindInputs(given, args, kwargs, &at)
                                          : BindInputs(*schema, given, args, kwargs, &at);
  if (status.ok() || at == given.size()) return status;
  return fail(status, at, given[at].name);
}

// Imports the result of a call that returns one Argument.
absl::Status GraphImporter::ImportResult(Node* call, Json output, Scope* scope) {
  ASSIGN_OR_RETURN(const JsonUnion value, ReadUnion(output));
  if (value.kind == "as_none") return absl::OkStatus();
  ASSIGN_OR_RETURN(const absl::string_view name, NameOfArgument(output));
  if (!name.empty()) {
    ASSIGN_OR_RETURN(const ValueMeta* const meta, MetaOf(name, scope));
    call->set_meta(meta);
    return Bind(name, call, scope);
  }
  // A list of values is the call's value itself.
  RETURN_IF_ERROR(value.value.ExpectArray());
  ASSIGN_OR_RETURN(const ValueMeta* const meta, AddElements(call, value.value.elements(), scope));
  call->set_meta(meta);
  return absl::OkStatus();
}

absl::Status GraphImporter::ImportResults(Node* call, Json outputs, bool is_tuple, Scope* scope) {
  if (outputs.size() == 0) return absl::OkStatus();
  if (outputs.size() == 1) {
    const Json output = *outputs.elements().begin();
    ASSIGN_OR_RETURN(const absl::string_view name, NameOfArgument(output));
    if (name.empty() || !is_tuple) return ImportResult(call, output, scope);
  }
  ASSIGN_OR_RETURN(const ValueMeta* const meta, AddElements(call, outputs.elements(), scope));
  call->set_meta(meta);
  return absl::OkStatus();
}

// Adds a node for each element of a sequence: Arguments, or elements of lists of them.
absl::StatusOr<const ValueMeta*> GraphImporter::AddElements(Node* sequence, Json::Range elements,
                                                            Scope* scope) {
  std::vector<const ValueMeta*> metas;
  const ValueMeta* const unknown = module_.InternValueMeta(TensorMeta());
  int64_t i = 0;
  for (const Json element : elements) {
    // {"name": "x"}, {"as_name": "n"}, {"as_tensor": {"name": "x"}}, {"as_tensors": […]}
    ASSIGN_OR_RETURN(JsonUnion value, ReadUnion(element));
    absl::string_view name;
    Json list;
    if (value.kind == "as_optional_tensor") {
      ASSIGN_OR_RETURN(value, ReadUnion(value.value));
    }
    if (value.kind == "name" || value.kind == "as_name") {
      ASSIGN_OR_RETURN(name, value.value.String());
    } else if (value.kind == "as_tensor") {
      ASSIGN_OR_RETURN(name, ReadName(value.value));
    } else if (IsConstant(value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("output ", i, " is ", Printable(value.kind), ", which no call returns"));
    } else if (value.value.is_there() && value.value.kind() == Json::Kind::kArray) {
      list = value.value;
    } else if (value.kind != "as_none") {
      ASSIGN_OR_RETURN(name, NameOfArgument(element));
    }
    metas.push_back(unknown);
    if (!name.empty()) {
      Node* const node = scope->graph->CallFunction("operator.getitem", {sequence, i}, {}, name);
      ASSIGN_OR_RETURN(const ValueMeta* const meta, MetaOf(name, scope));
      node->set_meta(meta);
      node->set_location(sequence->location());
      node->set_module_path(sequence->module_path());
      scope->made.push_back(node);
      if (meta != nullptr) metas.back() = meta;
      RETURN_IF_ERROR(Bind(name, node, scope));
    } else if (list.is_there() && list.size() > 0) {
      const auto kind = (*list.elements().begin()).kind();
      if (kind == Json::Kind::kObject) {
        Node* const node = scope->graph->CallFunction("operator.getitem", {sequence, i});
        node->set_location(sequence->location());
        node->set_module_path(sequence->module_path());
        scope->made.push_back(node);
        ASSIGN_OR_RETURN(metas.back(), AddElements(node, list.elements(), scope));
        node->set_meta(metas.back());
      }
    }
    ++i;
  }
  return module_.InternTupleMeta(metas);
}

// --- Arguments ---------------------------------------------------------------

absl::StatusOr<Node*> GraphImporter::FindValue(absl::string_view name, const Scope& scope) {
  const auto it = scope.values.find(name);
  if (it != scope.values.end()) return it->second;
  return absl::InvalidArgumentError(absl::StrCat("no value is called ", Printable(name)));
}

// Reads a SymIntArgument, SymFloatArgument, SymBoolArgument or OptionalTensorArgument: a value's
// name or a constant.
absl::StatusOr<Argument> GraphImporter::ReadNamed(Json argument, absl::string_view value_kind,
                                                  absl::string_view constant_kind,
                                                  const Scope& scope) {
  ASSIGN_OR_RETURN(const JsonUnion value, ReadUnion(argument));
  if (value.kind == "as_name" && value.kind == value_kind) {
    ASSIGN_OR_RETURN(const absl::string_view name, value.value.String());
    ASSIGN_OR_RETURN(Node* const node, FindValue(name, scope));
    return Argument(node);
  }
  if (value.kind == value_kind || value.kind == constant_kind) {
    return ReadArgument(argument, scope);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unexpected kind of argument: ", Printable(value.kind)));
}

// Reads an output of a graph: a value or a constant, which is all that torch.export.load takes.
absl::StatusOr<Argument> GraphImporter::ReadOutput(Json output, const Scope& scope) {
  ASSIGN_OR_RETURN(const JsonUnion value, ReadUnion(output));
  for (const absl::string_view kind : {"as_tensor", "as_sym_int", "as_sym_float", "as_sym_bool",
                                       "as_int", "as_float", "as_bool", "as_none"}) {
    if (value.kind == kind) return ReadArgument(output, scope);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unexpected kind of output: ", Printable(value.kind)));
}

absl::StatusOr<Argument> GraphImporter::ReadArgument(Json argument, const Scope& scope) {
  ASSIGN_OR_RETURN(const JsonUnion value, ReadUnion(argument));
  const absl::string_view kind = value.kind;
  const Json json = value.value;
  const auto tensor = [&](Json element) -> absl::StatusOr<Argument> {
    ASSIGN_OR_RETURN(const absl::string_view name, ReadName(element));
    ASSIGN_OR_RETURN(Node* const node, FindValue(name, scope));
    return Argument(node);
  };
  const auto integer = [](Json element) -> absl::StatusOr<Argument> {
    ASSIGN_OR_RETURN(const int64_t number, element.Int());
    return Argument(number);
  };
  const auto real = [](Json element) -> absl::StatusOr<Argument> {
    ASSIGN_OR_RETURN(const double number, element.Float());
    return Argument(number);
  };
  const auto boolean = [](Json element) -> absl::StatusOr<Argument> {
    ASSIGN_OR_RETURN(const bool truth, element.Bool());
    return Argument(truth);
  };
  const auto text = [](Json element) -> absl::StatusOr<Argument> {
    ASSIGN_OR_RETURN(const absl::string_view chars, element.String());
    return Argument(chars);
  };
  const auto named = [&](absl::string_view value_kind, absl::string_view constant_kind) {
    return [this, &scope, value_kind, constant_kind](Json element) {
      return ReadNamed(element, value_kind, constant_kind, scope);
    };
  };
  const auto symbolic_int = named("as_name", "as_int");
  const auto symbolic_float = named("as_name", "as_float");
  const auto symbolic_bool = named("as_name", "as_bool");
  const auto optional_tensor = named("as_tensor", "as_none");
  if (kind == "as_tensor") return tensor(json);
  if (kind == "as_none") return Argument();
  if (kind == "as_int") return integer(json);
  if (kind == "as_ints") return ReadList(json, integer);
  if (kind == "as_sym_int") return symbolic_int(json);
  if (kind == "as_sym_float") return symbolic_float(json);
  if (kind == "as_sym_bool") return symbolic_bool(json);
  if (kind == "as_optional_tensor") return optional_tensor(json);
  if (kind == "as_sym_ints") return ReadList(json, symbolic_int);
  if (kind == "as_sym_floats") return ReadList(json, symbolic_float);
  if (kind == "as_sym_bools") return ReadList(json, symbolic_bool);
  if (kind == "as_optional_tensors") return ReadList(json, optional_tensor);
  if (kind == "as_tensors") return ReadList(json, tensor);
  if (kind == "as_float") return real(json);
  if (kind == "as_floats") return ReadList(json, real);
  if (kind == "as_bool") return boolean(json);
  if (kind == "as_bools") return ReadList(json, boolean);
  if (kind == "as_string" || kind == "as_operator") return text(json);
  if (kind == "as_strings") return ReadList(json, text);
  if (kind == "as_scalar_type") {
    ASSIGN_OR_RETURN(const DType dtype, ReadScalarType(json));
    return Argument(dtype);
  }
  if (kind == "as_device") {
    ASSIGN_OR_RETURN(const Device device, ReadDevice(json));
    return Argument(device);
  }
  if (kind == "as_layout") {
    ASSIGN_OR_RETURN(const Layout layout, ReadLayout(json));
    return Argument(layout);
  }
  if (kind == "as_memory_format") {
    ASSIGN_OR_RETURN(const MemoryFormat format, ReadMemoryFormat(json));
    return Argument(format);
  }
  if (kind == "as_graph") {
    ASSIGN_OR_RETURN(Graph* const body, ImportBody(json, scope.depth + 1));
    return Argument(body);
  }
  if (kind == "as_complex") {
    Json parts[2];
    RETURN_IF_ERROR(ReadFields(json, {{"real", &parts[0]}, {"imag", &parts[1]}}));
    ASSIGN_OR_RETURN(const double re, parts[0].Float());
    ASSIGN_OR_RETURN(const double im, parts[1].Float());
    return module_.Complex({re, im});
  }
  if (kind == "as_nested_tensors") {
    return ReadList(json, [&](Json inner) { return ReadList(inner, tensor); });
  }
  if (kind == "as_int_lists") {
    return ReadList(json, [&](Json inner) { return ReadList(inner, integer, /*tuple=*/true); });
  }
  if (kind == "as_float_lists") {
    return ReadList(json, [&](Json inner) { return ReadList(inner, real); });
  }
  if (kind == "as_custom_obj") {
    Json name_field;
    RETURN_IF_ERROR(ReadFields(json, {{"name", &name_field}}));
    ASSIGN_OR_RETURN(const absl::string_view name, name_field.String());
    ASSIGN_OR_RETURN(Node* const node, FindValue(name, scope));
    return Argument(node);
  }
  if (kind == "as_string_to_argument") {
    std::vector<Argument> elements;
    absl::flat_hash_set<absl::string_view> keys;
    RETURN_IF_ERROR(json.ForEachMember([&](absl::string_view key, Json element) -> absl::Status {
      if (!keys.insert(key).second) return absl::InvalidArgumentError("a dict with one key twice");
      elements.emplace_back(key);
      ASSIGN_OR_RETURN(elements.emplace_back(), ReadArgument(element, scope));
      return absl::OkStatus();
    }));
    return Argument::Dict(arena_.Copy(absl::MakeConstSpan(elements)));
  }
  return absl::InvalidArgumentError(absl::StrCat("unexpected kind of argument: ", Printable(kind)));
}

}  // namespace graphnet::pt2

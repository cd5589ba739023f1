#include "graphnet/formats/pt2/graph_importer.h"

#include <algorithm>
#include <complex>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/pt2/expressions.h"
#include "graphnet/formats/pt2/schema.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ops/callable.h"

namespace graphnet::pt2 {
namespace {

// ArgumentKind of the schema.
constexpr int64_t kPositional = 1;
constexpr int64_t kKeyword = 2;

constexpr absl::string_view kHigherOrder = "torch.ops.higher_order.";
// What orders the effects of calls in a program whose calls may be moved.
constexpr absl::string_view kWithEffects = "torch.ops.higher_order.with_effects";

absl::Status Error(absl::string_view what) { return absl::InvalidArgumentError(what); }

// As nodes of the IR have it.
std::string TargetOf(absl::string_view target) {
  if (absl::ConsumePrefix(&target, "torch.ops.aten.")) return absl::StrCat("aten.", target);
  if (absl::StartsWith(target, "_operator.")) target.remove_prefix(1);
  return std::string(target);
}

// Calls of numbers that may be symbols: all by position, whatever the names say.
bool IsSymbolicCall(absl::string_view target) {
  return absl::StartsWith(target, "_operator.") || absl::StartsWith(target, "math.") ||
         absl::StartsWith(target, "torch.sym_") || absl::StartsWith(target, "torch._sym_");
}

// {"name": "x"}
absl::StatusOr<absl::string_view> ReadName(Json argument) {
  Json name;
  RETURN_IF_ERROR(ReadFields(argument, {{"name", &name}}));
  return name.String();
}

// The name in an argument that is a value of the graph, {"as_tensor": {"name": "x"}}; empty if
// it is a constant.
absl::StatusOr<absl::string_view> NameOfArgument(Json argument) {
  ASSIGN_OR_RETURN(const JsonUnion value, ReadUnion(argument));
  if (value.kind == "as_tensor" || value.kind == "as_custom_obj") return ReadName(value.value);
  if (value.kind == "as_sym_int" || value.kind == "as_sym_float" || value.kind == "as_sym_bool") {
    ASSIGN_OR_RETURN(const JsonUnion named, ReadUnion(value.value));
    if (named.kind == "as_name") return named.value.String();
  }
  return absl::string_view();
}

// The last "path" and line of a Python stack trace:
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

// The path of the innermost module of "key,path,type;key,path,type".
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
  // What stands where there is no module.
  if (absl::StartsWith(path, "_empty_nn_module_stack")) return {};
  return path;
}

}  // namespace

// --- Tables and metas --------------------------------------------------------

absl::Status GraphImporter::ReadTable(Json table,
                                      absl::flat_hash_map<absl::string_view, Json>* values) {
  if (table.is_null()) return absl::OkStatus();
  values->reserve(table.size() / 2);
  return table.ForEachMember([&](absl::string_view name, Json value) {
    if (values->try_emplace(name, value).second) return absl::OkStatus();
    return Error(absl::StrCat("two values are named ", Printable(name)));
  });
}

absl::StatusOr<std::optional<Dim>> GraphImporter::ReadSize(Json size) {
  ASSIGN_OR_RETURN(const JsonUnion value, ReadUnion(size));
  if (value.kind == "as_int") {
    ASSIGN_OR_RETURN(const int64_t number, value.value.Int());
    return Dim(number);
  }
  if (value.kind != "as_expr") {
    return Error(absl::StrCat("a size is no ", Printable(value.kind)));
  }
  Json text, hint;
  RETURN_IF_ERROR(ReadFields(value.value, {{"expr_str", &text}, {"hint", &hint, false}}));
  ASSIGN_OR_RETURN(const absl::string_view srepr, text.String());
  const auto [it, is_new] = expressions_.try_emplace(srepr);
  if (is_new) {
    absl::StatusOr<const SymExpr*> parsed = ParseSympy(srepr, &module_);
    if (!parsed.ok()) {
      return Annotate(parsed.status(), absl::StrCat("expression ", Printable(srepr)));
    }
    it->second = *parsed;
    // The value it had in the example.
    if (*parsed != nullptr && (*parsed)->kind == SymExpr::Kind::kSymbol && !hint.is_null()) {
      ASSIGN_OR_RETURN(const JsonUnion example, ReadUnion(hint));
      if (example.kind == "as_int") {
        ASSIGN_OR_RETURN(const int64_t number, example.value.Int());
        module_.AddSymbol((*parsed)->name, number);
      }
    }
  }
  if (it->second == nullptr) return std::optional<Dim>();
  if (it->second->kind == SymExpr::Kind::kInt) return Dim(it->second->value);
  return Dim(it->second);
}

absl::StatusOr<const ValueMeta*> GraphImporter::ReadMeta(Json meta) {
  Json dtype, sizes, device, unused;
  RETURN_IF_ERROR(ReadFields(meta, {{"dtype", &dtype},
                                    {"sizes", &sizes},
                                    {"requires_grad", &unused, false},
                                    {"device", &device}}));
  TensorMeta made;
  ASSIGN_OR_RETURN(made.dtype, ReadScalarType(dtype));
  made.has_device = true;
  ASSIGN_OR_RETURN(made.device, ReadDevice(device));
  RETURN_IF_ERROR(sizes.ExpectArray());
  if (sizes.size() > kMaxRank) {
    return Error(absl::StrCat(sizes.size(), " dimensions, over the limit of ", kMaxRank));
  }
  made.has_shape = true;
  Dim shape[kMaxRank];
  size_t rank = 0;
  for (const Json size : sizes.elements()) {
    ASSIGN_OR_RETURN(const std::optional<Dim> dim, ReadSize(size));
    if (!dim) made.has_shape = false;
    shape[rank++] = dim.value_or(Dim());
  }
  if (made.has_shape) made.shape = absl::MakeConstSpan(shape, rank);
  return module_.InternValueMeta(made);
}

absl::StatusOr<const ValueMeta*> GraphImporter::MetaOf(absl::string_view value, Scope* scope) {
  const auto it = scope->tensors.find(value);
  if (it == scope->tensors.end()) return nullptr;
  absl::StatusOr<const ValueMeta*> meta = ReadMeta(it->second);
  if (meta.ok()) return meta;
  return Annotate(meta.status(), absl::StrCat("value ", Printable(value)));
}

// --- The whole ---------------------------------------------------------------

absl::Status GraphImporter::Run(Json graph_module) {
  Json graph, signature, calls;
  RETURN_IF_ERROR(ReadFields(
      graph_module,
      {{"graph", &graph}, {"signature", &signature}, {"module_call_graph", &calls, false}}));
  Json input_specs, output_specs;
  RETURN_IF_ERROR(Annotate(
      ReadFields(signature, {{"input_specs", &input_specs}, {"output_specs", &output_specs}}),
      "signature"));
  absl::StatusOr<std::optional<CallSignature>> call = ReadCallSignature(calls);
  if (!call.ok()) return Annotate(call.status(), "module_call_graph");
  call_ = *std::move(call);
  Scope scope{.graph = module_.AddGraph("forward")};
  Json inputs, nodes;
  RETURN_IF_ERROR(ReadFields(graph, {{"inputs", &inputs}, {"nodes", &nodes}}));
  RETURN_IF_ERROR(ReadValues(graph, &scope));
  RETURN_IF_ERROR(ImportSignatureInputs(inputs, input_specs, &scope));
  RETURN_IF_ERROR(nodes.ExpectArray());
  for (const Json node : nodes.elements()) RETURN_IF_ERROR(ImportNode(node, &scope));
  RETURN_IF_ERROR(ImportOutputs(graph, output_specs, &scope));
  return absl::OkStatus();
}

absl::Status GraphImporter::ReadValues(Json graph, Scope* scope) {
  Json tensors, ints, bools, floats, objects;
  RETURN_IF_ERROR(ReadFields(graph, {{"tensor_values", &tensors},
                                     {"sym_int_values", &ints},
                                     {"sym_bool_values", &bools},
                                     {"custom_obj_values", &objects, false},
                                     {"sym_float_values", &floats, false}}));
  RETURN_IF_ERROR(ReadTable(tensors, &scope->tensors));
  return ReadTable(ints, &scope->sizes);
}

absl::StatusOr<Graph*> GraphImporter::ImportBody(Json argument, int depth) {
  if (depth > kMaxNesting) return Error(absl::StrCat("graphs nest deeper than ", kMaxNesting));
  Json name_field, graph;
  RETURN_IF_ERROR(ReadFields(argument, {{"name", &name_field}, {"graph", &graph}}));
  ASSIGN_OR_RETURN(const absl::string_view name, name_field.String());
  if (name.empty() || name.size() > kMaxNameBytes) return Error("a graph without a usable name");
  const auto fail = [&](const absl::Status& status) {
    return Annotate(status, absl::StrCat("graph ", Printable(name)));
  };
  Json inputs, nodes, outputs, single;
  RETURN_IF_ERROR(fail(ReadFields(graph, {{"inputs", &inputs},
                                          {"outputs", &outputs},
                                          {"nodes", &nodes},
                                          {"is_single_tensor_return", &single, false}})));
  Scope scope{.graph = module_.AddGraph(name), .depth = depth};
  RETURN_IF_ERROR(fail(ReadValues(graph, &scope)));
  RETURN_IF_ERROR(fail(inputs.ExpectArray()));
  for (const Json input : inputs.elements()) {
    RETURN_IF_ERROR(fail(AddPlaceholder(input, &scope)));
  }
  RETURN_IF_ERROR(fail(nodes.ExpectArray()));
  for (const Json node : nodes.elements()) RETURN_IF_ERROR(fail(ImportNode(node, &scope)));
  RETURN_IF_ERROR(fail(outputs.ExpectArray()));
  const auto read = [&](Json output) { return ReadArgument(output, scope); };
  absl::StatusOr<Argument> results = ReadList(outputs, read, /*tuple=*/true);
  if (!results.ok()) return fail(results.status());
  bool is_single = false;
  if (!single.is_null()) {
    ASSIGN_OR_RETURN(is_single, single.Bool());
  }
  if (is_single && results->elements().size() != 1) {
    return fail(Error("returns a single tensor and has several outputs"));
  }
  scope.graph->Output(is_single ? results->elements()[0] : *results);
  return scope.graph;
}

absl::Status GraphImporter::AddRanges(Json range_constraints) {
  return range_constraints.ForEachMember([&](absl::string_view key, Json range) -> absl::Status {
    const auto fail = [&](const absl::Status& status) {
      return Annotate(status, absl::StrCat("range of ", Printable(key)));
    };
    Json min, max;
    RETURN_IF_ERROR(fail(ReadFields(range, {{"min_val", &min, false}, {"max_val", &max, false}})));
    // Those of expressions follow from those of their symbols.
    const bool is_symbol = module_.FindSymbol(key) != nullptr;
    const auto low = ReadBound(min), high = ReadBound(max);
    if (!low.ok()) return fail(low.status());
    if (!high.ok()) return fail(high.status());
    const auto relate = [&](SymExpr::Kind kind, int64_t bound) {
      module_.AddRelation(module_.SymBinary(kind, module_.SymSymbol(key), module_.SymInt(bound)));
    };
    if (is_symbol && *low) relate(SymExpr::Kind::kGe, **low);
    if (is_symbol && *high) relate(SymExpr::Kind::kLe, **high);
    if (*low && *high && **low > **high)
      return fail(Error(absl::StrCat("is from ", **low, " to ", **high)));
    return absl::OkStatus();
  });
}

// --- Inputs ------------------------------------------------------------------

absl::Status GraphImporter::Bind(absl::string_view value, Node* node, Scope* scope) {
  if (scope->values.try_emplace(value, node).second) return absl::OkStatus();
  return Error(absl::StrCat("the value ", Printable(value), " is made twice"));
}

absl::Status GraphImporter::AddPlaceholder(Json input, Scope* scope) {
  ASSIGN_OR_RETURN(const absl::string_view name, NameOfArgument(input));
  if (name.empty()) {  // A constant: nothing refers to it, but callers hand it on.
    scope->graph->Placeholder(absl::StrCat("arg", scope->graph->num_nodes()));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const JsonUnion value, ReadUnion(input));
  const std::string target = scope->graph->UniqueName(name);
  Node* const node = scope->graph->Placeholder(target, target);
  ASSIGN_OR_RETURN(const ValueMeta* const meta, MetaOf(name, scope));
  node->set_meta(meta);
  if (value.kind == "as_sym_int") node->set_annotation("torch.SymInt");
  if (value.kind == "as_sym_float") node->set_annotation("torch.SymFloat");
  if (value.kind == "as_sym_bool") node->set_annotation("torch.SymBool");
  if (value.kind == "as_tensor" && scope->depth == 0) node->set_annotation("torch.Tensor");
  if (value.kind == "as_sym_int" && scope->depth == 0) {
    // The number it had in the example.
    const auto it = scope->sizes.find(name);
    if (it == scope->sizes.end()) return Error("its value is not described");
    ASSIGN_OR_RETURN(const std::optional<Dim> size, ReadSize(it->second));
    if (size && !size->is_static() && size->expr->kind == SymExpr::Kind::kSymbol) {
      const Symbol* const symbol = module_.FindSymbol(size->expr->name);
      if (symbol != nullptr && symbol->example) {
        const Argument example = *symbol->example;
        DrawSpec spec;
        spec.data = Argument::List({&example, 1});
        node->set_draw_spec(spec);
      }
    }
  }
  return Bind(name, node, scope);
}

absl::Status GraphImporter::ImportUserInput(Json input, Json spec, Scope* scope) {
  Json argument;
  RETURN_IF_ERROR(ReadFields(spec, {{"arg", &argument}}));
  ASSIGN_OR_RETURN(const absl::string_view name, NameOfArgument(input));
  ASSIGN_OR_RETURN(const absl::string_view named, NameOfArgument(argument));
  if (name != named) {
    return Error(
        absl::StrCat("the signature calls it ", Printable(named), ", the graph ", Printable(name)));
  }
  if (name.empty()) {
    user_inputs_.emplace_back();
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(AddPlaceholder(input, scope));
  user_inputs_.emplace_back(scope->values.at(name)->target());
  return absl::OkStatus();
}

absl::StatusOr<Node*> GraphImporter::MakeAttributeNode(absl::string_view value,
                                                       absl::string_view name,
                                                       absl::string_view annotation, Scope* scope) {
  std::string attribute(name);
  while (placeholder_names_.contains(attribute) || module_.FindAttribute(attribute) != nullptr) {
    attribute += '_';
  }
  ASSIGN_OR_RETURN(const ValueMeta* const meta, MetaOf(value, scope));
  module_.AddAttribute({.name = attribute,
                        .meta = meta == nullptr ? nullptr : meta->tensor,
                        .annotation = annotation});
  Node* const node = scope->graph->GetAttr(attribute, value);
  node->set_meta(meta);
  scope->made.push_back(node);
  const auto payload = payloads_.find(name);
  const Payload* const its_value = payload == payloads_.end() ? nullptr : &payload->second;
  if (its_value != nullptr && its_value->is_tensor) {
    by_identity_.emplace(its_value->Identity(), attribute);
  }
  attributes_.push_back({std::move(attribute), its_value});
  return node;
}

absl::StatusOr<Node*> GraphImporter::MakeView(absl::string_view name, const Payload& payload,
                                              Scope* scope) {
  // The storage is an attribute, of which this is a view: what is written to one of those
  // that share it shows in the others.
  Node*& storage = storage_nodes_[payload.Storage()];
  if (storage == nullptr) {
    std::string attribute =
        absl::StrCat("_storage_", payload.record_name.substr(payload.record_name.rfind('/') + 1));
    while (placeholder_names_.contains(attribute) || module_.FindAttribute(attribute) != nullptr) {
      attribute += '_';
    }
    if (!payload.record_bytes) return Error("its storage is not in the archive");
    const uint64_t width = static_cast<uint64_t>(DTypeBytes(payload.tensor.dtype));
    const Dim size = static_cast<int64_t>(*payload.record_bytes / width);
    const ValueMeta* const meta = module_.InternValueMeta({.dtype = payload.tensor.dtype,
                                                           .has_device = true,
                                                           .has_shape = true,
                                                           .shape = {&size, 1}});
    module_.AddAttribute({.name = attribute, .meta = meta->tensor, .annotation = "torch.Tensor"});
    storage = scope->graph->GetAttr(attribute, attribute);
    storage->set_meta(meta);
    scope->made.push_back(storage);
    attributes_.push_back({attribute, &payload, /*is_storage=*/true});
  }
  const auto list = [&](const std::vector<int64_t>& numbers) {
    const std::vector<Argument> elements(numbers.begin(), numbers.end());
    return Argument::List(arena_.Copy(absl::MakeConstSpan(elements)));
  };
  Node* const view = scope->graph->CallFunction(
      "aten.as_strided.default",
      {storage, list(payload.tensor.sizes), list(payload.tensor.strides), payload.tensor.offset},
      {}, name);
  scope->made.push_back(view);
  return view;
}

absl::Status GraphImporter::AddAttribute(absl::string_view value, absl::string_view name,
                                         absl::string_view annotation, Scope* scope) {
  if (name.empty() || name.size() > kMaxNameBytes) return Error("it has no usable name");
  const auto [it, is_new] = attribute_nodes_.try_emplace(std::string(name));
  if (!is_new) {
    // As torch 2.6 has parameters that are one.
    const Attribute* const attribute = module_.FindAttribute(name);
    if (attribute != nullptr && attribute->annotation == annotation &&
        attribute->annotation != "torch.Tensor") {
      return Bind(value, it->second, scope);
    }
    return Error(absl::StrCat("two inputs are ", Printable(name)));
  }
  const auto payload = payloads_.find(name);
  Node* node = nullptr;
  if (payload != payloads_.end()) {
    // One tensor under several names is one attribute.
    const auto same = by_identity_.find(payload->second.Identity());
    if (same != by_identity_.end()) {
      node = scope->graph->GetAttr(same->second, value);
      scope->made.push_back(node);
    } else if (payload->second.is_tensor && overlapping_.contains(payload->second.Storage())) {
      ASSIGN_OR_RETURN(node, MakeView(value, payload->second, scope));
    }
    if (node != nullptr) {
      ASSIGN_OR_RETURN(const ValueMeta* const meta, MetaOf(value, scope));
      node->set_meta(meta);
    }
  }
  if (node == nullptr) {
    ASSIGN_OR_RETURN(node, MakeAttributeNode(value, name, annotation, scope));
  }
  attribute_nodes_[std::string(name)] = node;
  return Bind(value, node, scope);
}

absl::Status GraphImporter::ImportSignatureInputs(Json inputs, Json specs, Scope* scope) {
  RETURN_IF_ERROR(Annotate(inputs.ExpectArray(), "inputs"));
  RETURN_IF_ERROR(Annotate(specs.ExpectArray(), "signature: input_specs"));
  if (inputs.size() != specs.size()) {
    return Error(
        absl::StrCat("the signature has ", specs.size(), " inputs, the graph ", inputs.size()));
  }
  const auto fail = [](size_t i, const absl::Status& status) {
    return Annotate(status, absl::StrCat("input ", i));
  };
  // Placeholders come first in a graph.
  auto spec = specs.elements().begin();
  size_t i = 0;
  for (const Json input : inputs.elements()) {
    const absl::StatusOr<JsonUnion> kind = ReadUnion(*spec);
    if (!kind.ok()) return fail(i, kind.status());
    if (kind->kind == "user_input") {
      RETURN_IF_ERROR(fail(i, ImportUserInput(input, kind->value, scope)));
    } else if (kind->kind == "constant_input") {
      user_inputs_.emplace_back();
    } else if (kind->kind == "token") {
      const absl::StatusOr<absl::string_view> token = NameOfArgument(input);
      if (!token.ok()) return fail(i, token.status());
      scope->tokens.insert(*token);
    }
    ++spec;
    ++i;
  }
  for (const Node* node : scope->graph->nodes()) placeholder_names_.insert(node->target());
  spec = specs.elements().begin();
  i = 0;
  for (const Json input : inputs.elements()) {
    const auto import = [&]() -> absl::Status {
      ASSIGN_OR_RETURN(const JsonUnion kind, ReadUnion(*spec));
      if (kind.kind == "user_input" || kind.kind == "constant_input" || kind.kind == "token") {
        return absl::OkStatus();
      }
      Json argument, target;
      const absl::string_view field = kind.kind == "parameter"         ? "parameter_name"
                                      : kind.kind == "buffer"          ? "buffer_name"
                                      : kind.kind == "tensor_constant" ? "tensor_constant_name"
                                      : kind.kind == "custom_obj"      ? "custom_obj_name"
                                                                       : "";
      if (field.empty()) return Error(absl::StrCat("no input is a ", Printable(kind.kind)));
      RETURN_IF_ERROR(ReadFields(kind.value, {{"arg", &argument}, {field, &target}}));
      ASSIGN_OR_RETURN(const absl::string_view value, NameOfArgument(input));
      ASSIGN_OR_RETURN(const absl::string_view named, ReadName(argument));
      if (value.empty() || value != named) {
        return Error(absl::StrCat("the signature calls it ", Printable(named), ", the graph ",
                                  Printable(value)));
      }
      ASSIGN_OR_RETURN(const absl::string_view name, target.String());
      const absl::string_view annotation = kind.kind == "parameter"    ? kParameterAnnotation
                                           : kind.kind == "custom_obj" ? "torch.ScriptObject"
                                                                       : "torch.Tensor";
      return AddAttribute(value, name, annotation, scope);
    };
    RETURN_IF_ERROR(fail(i, import()));
    ++spec;
    ++i;
  }
  return absl::OkStatus();
}

// --- Outputs -----------------------------------------------------------------

// What a mutation of the signature writes to.
absl::StatusOr<Node*> GraphImporter::FindMutated(absl::string_view kind, absl::string_view target,
                                                 Scope* scope) {
  if (kind == "user_input_mutation") {
    const auto it = scope->values.find(target);
    if (it != scope->values.end() && it->second->is_placeholder()) return it->second;
  } else if (const auto it = attribute_nodes_.find(std::string(target));
             it != attribute_nodes_.end()) {
    return it->second;
  }
  return Error(absl::StrCat("there is no ", Printable(target), " to write to"));
}

absl::StatusOr<Argument> GraphImporter::BuildOutput(const TreeSpec& spec,
                                                    absl::Span<const Argument>* leaves) {
  if (spec.kind == TreeSpec::Kind::kLeaf) {
    const Argument leaf = leaves->front();
    leaves->remove_prefix(1);
    return leaf;
  }
  std::vector<Argument> elements;
  for (size_t i = 0; i < spec.children.size(); ++i) {
    if (spec.kind == TreeSpec::Kind::kDict) {
      elements.push_back(std::visit(
          [this](const auto& key) -> Argument {
            using Key = std::decay_t<decltype(key)>;
            if constexpr (std::is_same_v<Key, std::monostate>) {
              return Argument();
            } else if constexpr (std::is_same_v<Key, std::string>) {
              return arena_.Copy(absl::string_view(key));
            } else {
              return key;
            }
          },
          spec.keys[i]));
    }
    ASSIGN_OR_RETURN(const Argument child, BuildOutput(spec.children[i], leaves));
    elements.push_back(child);
  }
  const absl::Span<const Argument> kept = arena_.Copy(absl::MakeConstSpan(elements));
  switch (spec.kind) {
    case TreeSpec::Kind::kList: return Argument::List(kept);
    case TreeSpec::Kind::kDict: return Argument::Dict(kept);
    default: return Argument::Tuple(kept);
  }
}

absl::Status GraphImporter::ImportOutputs(Json graph, Json specs, Scope* scope) {
  Json outputs;
  RETURN_IF_ERROR(ReadFields(graph, {{"outputs", &outputs}}));
  RETURN_IF_ERROR(Annotate(outputs.ExpectArray(), "outputs"));
  RETURN_IF_ERROR(Annotate(specs.ExpectArray(), "signature: output_specs"));
  if (outputs.size() != specs.size()) {
    return Error(
        absl::StrCat("the signature has ", specs.size(), " outputs, the graph ", outputs.size()));
  }
  std::vector<Argument> returned;
  absl::flat_hash_map<Node*, Node*> copies;
  auto spec = specs.elements().begin();
  size_t i = 0;
  for (const Json output : outputs.elements()) {
    const auto import = [&]() -> absl::Status {
      ASSIGN_OR_RETURN(const JsonUnion kind, ReadUnion(*spec));
      if (kind.kind == "token") {
        ASSIGN_OR_RETURN(const absl::string_view token, NameOfArgument(output));
        if (scope->tokens.contains(token)) return absl::OkStatus();
        return Error(absl::StrCat(Printable(token), " is no token"));
      }
      ASSIGN_OR_RETURN(const Argument value, ReadArgument(output, *scope));
      Json argument, target;
      const bool is_mutation = absl::EndsWith(kind.kind, "_mutation");
      if (kind.kind != "user_output" && kind.kind != "loss_output" && !is_mutation &&
          !absl::StartsWith(kind.kind, "gradient_to_")) {
        return Error(absl::StrCat("no output is a ", Printable(kind.kind)));
      }
      RETURN_IF_ERROR(ReadFields(kind.value, {{"arg", &argument}}));
      ASSIGN_OR_RETURN(const absl::string_view name, NameOfArgument(output));
      absl::string_view named;
      if (kind.kind == "user_output") {
        ASSIGN_OR_RETURN(named, NameOfArgument(argument));
      } else {
        ASSIGN_OR_RETURN(named, ReadName(argument));
      }
      if (name != named) {
        return Error(absl::StrCat("the signature calls it ", Printable(named), ", the graph ",
                                  Printable(name)));
      }
      if (!is_mutation) {
        returned.push_back(value);
        return absl::OkStatus();
      }
      const absl::string_view field = kind.kind == "buffer_mutation"      ? "buffer_name"
                                      : kind.kind == "parameter_mutation" ? "parameter_name"
                                                                          : "user_input_name";
      RETURN_IF_ERROR(ReadFields(kind.value, {{field, &target}}));
      ASSIGN_OR_RETURN(const absl::string_view written, target.String());
      ASSIGN_OR_RETURN(Node* const to, FindMutated(kind.kind, written, scope));
      if (!value.is_node()) return Error("a mutation by what is no value");
      Node* const copy = scope->graph->CallFunction("aten.copy_.default", {to, value});
      copy->set_meta(to->meta());
      copies[value.node()] = copy;
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(Annotate(import(), absl::StrCat("output ", i)));
    ++spec;
    ++i;
  }
  // As torch.export's own module does: what was copied is returned from where it lies then.
  for (Argument& value : returned) {
    if (!value.is_node()) continue;
    if (const auto it = copies.find(value.node()); it != copies.end()) value = it->second;
  }
  Argument result = Argument::Tuple(arena_.Copy(absl::MakeConstSpan(returned)));
  if (call_) {
    if (call_->out_spec.num_leaves() != returned.size()) {
      return Error(absl::StrCat("module_call_graph: out_spec has ", call_->out_spec.num_leaves(),
                                " leaves, the signature ", returned.size(), " outputs"));
    }
    absl::Span<const Argument> leaves = returned;
    ASSIGN_OR_RETURN(result, BuildOutput(call_->out_spec, &leaves));
  }
  scope->graph->Output(result);
  // What nobody asks for is not looked up.
  for (size_t n = scope->made.size(); n-- > 0;) {
    if (!scope->made[n]->has_uses()) scope->graph->EraseNode(scope->made[n]);
  }
  return absl::OkStatus();
}

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
    if (callee.empty() || callee.size() > kMaxNameBytes) return Error("it has no usable target");
    if (callee == kWithEffects) return ImportWithEffects(inputs, outputs, metadata, label, scope);
    std::vector<Argument> args;
    std::vector<KwArg> kwargs;
    RETURN_IF_ERROR(inputs.ExpectArray());
    RETURN_IF_ERROR(ImportInputs(callee, inputs.elements(), scope, &args, &kwargs));
    RETURN_IF_ERROR(outputs.ExpectArray());
    // What yields one value is called by it.
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
    if (called.size() > kMaxNameBytes) return Error("its name is too long");
    Node* const call = scope->graph->CallFunction(TargetOf(callee), args, kwargs, called);
    Describe(metadata, call);
    return ImportResults(call, outputs, is_tuple, scope);
  };
  absl::Status status = import();
  if (status.ok()) return status;
  return Annotate(status,
                  absl::StrCat("node ", label.empty() ? Printable(callee) : Printable(label)));
}

// with_effects(token, operator, *args) yields a token and what the operator does. Calls of a graph
// are done in order, so the operator is called and the tokens are gone.
absl::Status GraphImporter::ImportWithEffects(Json inputs, Json outputs, Json metadata,
                                              absl::string_view label, Scope* scope) {
  RETURN_IF_ERROR(inputs.ExpectArray());
  RETURN_IF_ERROR(outputs.ExpectArray());
  if (inputs.size() < 2 || outputs.size() < 1) return Error("it has no token or no operator");
  Json::Range rest = inputs.elements(), results = outputs.elements();
  Json token, callee;
  RETURN_IF_ERROR(ReadFields(*rest.first, {{"arg", &token}}));
  RETURN_IF_ERROR(ReadFields(*++rest.first, {{"arg", &callee}}));
  ++rest.first;
  ASSIGN_OR_RETURN(const absl::string_view taken, NameOfArgument(token));
  if (!scope->tokens.contains(taken)) return Error(absl::StrCat(Printable(taken), " is no token"));
  ASSIGN_OR_RETURN(const absl::string_view made, NameOfArgument(*results.first));
  if (made.empty() || scope->values.contains(made) || !scope->tokens.insert(made).second) {
    return Error(absl::StrCat("the token ", Printable(made), " is made twice"));
  }
  ASSIGN_OR_RETURN(const JsonUnion named, ReadUnion(callee));
  if (named.kind != "as_operator") return Error("its second input is no operator");
  ASSIGN_OR_RETURN(const absl::string_view target, named.value.String());
  if (target.empty() || target.size() > kMaxNameBytes) return Error("it has no usable operator");

  std::vector<Argument> args;
  std::vector<KwArg> kwargs;
  RETURN_IF_ERROR(ImportInputs(target, rest, scope, &args, &kwargs));
  ++results.first;
  absl::string_view name = label;
  const bool is_one = outputs.size() == 2;
  if (is_one) {
    ASSIGN_OR_RETURN(const absl::string_view value, NameOfArgument(*results.first));
    if (!value.empty()) name = value;
  }
  if (name.size() > kMaxNameBytes) return Error("its name is too long");
  Node* const call = scope->graph->CallFunction(TargetOf(target), args, kwargs, name);
  Describe(metadata, call);
  if (is_one) return ImportResult(call, *results.first, scope);
  if (outputs.size() == 1) return absl::OkStatus();
  ASSIGN_OR_RETURN(const ValueMeta* const meta, AddElements(call, results, scope));
  call->set_meta(meta);
  return absl::OkStatus();
}

absl::Status GraphImporter::ImportInputs(absl::string_view target, Json::Range inputs, Scope* scope,
                                         std::vector<Argument>* args, std::vector<KwArg>* kwargs) {
  const bool is_symbolic = IsSymbolicCall(target);
  for (const Json input : inputs) {
    Json name_field, argument, kind_field;
    RETURN_IF_ERROR(ReadFields(
        input, {{"name", &name_field}, {"arg", &argument}, {"kind", &kind_field, false}}));
    ASSIGN_OR_RETURN(const absl::string_view name, name_field.String());
    int64_t kind = 0;
    if (!kind_field.is_null()) {
      ASSIGN_OR_RETURN(kind, kind_field.Int());
    }
    absl::StatusOr<Argument> value = ReadArgument(argument, *scope);
    if (!value.ok()) {
      return name.empty() ? value.status()
                          : Annotate(value.status(), absl::StrCat("input ", Printable(name)));
    }
    if (kind != kPositional && kind != kKeyword) {
      // Writers before schema 8.3 do not say: by position what has no default.
      const Callable callable = FindCallable(Op::kCallFunction, target);
      const Schema* const schema =
          callable.kind == Callable::Kind::kAten ? &callable.overloads[0] : nullptr;
      const int i = schema == nullptr ? -1 : schema->IndexOf(name);
      const bool is_positional = i == static_cast<int>(args->size()) &&
                                 !schema->arguments[i].has_default &&
                                 !schema->arguments[i].keyword_only;
      kind = schema == nullptr || is_positional ? kPositional : kKeyword;
    }
    if (is_symbolic || name.empty() || kind == kPositional) {
      args->push_back(*value);
    } else {
      kwargs->push_back({name, *value});
    }
  }
  return absl::OkStatus();
}

// What a call yields, if that is one Argument.
absl::Status GraphImporter::ImportResult(Node* call, Json output, Scope* scope) {
  ASSIGN_OR_RETURN(const JsonUnion value, ReadUnion(output));
  if (value.kind == "as_none") return absl::OkStatus();
  ASSIGN_OR_RETURN(const absl::string_view name, NameOfArgument(output));
  if (!name.empty()) {
    ASSIGN_OR_RETURN(const ValueMeta* const meta, MetaOf(name, scope));
    call->set_meta(meta);
    return Bind(name, call, scope);
  }
  // A list of values is the value itself.
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

// Takes apart what yields several values: Arguments, or what is in lists of them.
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
  return Error(absl::StrCat("no value is called ", Printable(name)));
}

template <typename Fn>
absl::StatusOr<Argument> GraphImporter::ReadList(Json list, Fn&& read, bool tuple) {
  RETURN_IF_ERROR(list.ExpectArray());
  Argument* const elements = arena_.NewArray<Argument>(list.size());
  size_t n = 0;
  for (const Json element : list.elements()) {
    ASSIGN_OR_RETURN(const Argument argument, read(element));
    new (&elements[n++]) Argument(argument);
  }
  const auto made = absl::MakeConstSpan(elements, n);
  return tuple ? Argument::Tuple(made) : Argument::List(made);
}

// Of SymInt-, SymFloat-, SymBool- and OptionalTensorArgument: a value's name or a constant.
absl::StatusOr<Argument> GraphImporter::ReadNamed(Json argument, const Scope& scope) {
  ASSIGN_OR_RETURN(const JsonUnion value, ReadUnion(argument));
  if (value.kind == "as_name") {
    ASSIGN_OR_RETURN(const absl::string_view name, value.value.String());
    ASSIGN_OR_RETURN(Node* const node, FindValue(name, scope));
    return Argument(node);
  }
  if (value.kind == "as_tensor" || value.kind == "as_none" || value.kind == "as_int" ||
      value.kind == "as_float" || value.kind == "as_bool") {
    return ReadArgument(argument, scope);
  }
  return Error(absl::StrCat("no argument is ", Printable(value.kind)));
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
  const auto named = [&](Json element) { return ReadNamed(element, scope); };
  if (kind == "as_tensor") return tensor(json);
  if (kind == "as_none") return Argument();
  if (kind == "as_int") return integer(json);
  if (kind == "as_ints") return ReadList(json, integer);
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool" ||
      kind == "as_optional_tensor") {
    return named(json);
  }
  if (kind == "as_sym_ints" || kind == "as_sym_floats" || kind == "as_sym_bools" ||
      kind == "as_optional_tensors") {
    return ReadList(json, named);
  }
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
      if (!keys.insert(key).second) return Error("a dict with one key twice");
      elements.emplace_back(key);
      ASSIGN_OR_RETURN(elements.emplace_back(), ReadArgument(element, scope));
      return absl::OkStatus();
    }));
    return Argument::Dict(arena_.Copy(absl::MakeConstSpan(elements)));
  }
  return Error(absl::StrCat("no argument is ", Printable(kind)));
}

}  // namespace graphnet::pt2

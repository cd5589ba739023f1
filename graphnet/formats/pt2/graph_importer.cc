#include "graphnet/formats/pt2/graph_importer.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/pt2/expressions.h"
#include "graphnet/formats/pt2/json.h"
#include "graphnet/formats/pt2/schema.h"

namespace graphnet::pt2 {

// --- Tables and metas --------------------------------------------------------

absl::Status GraphImporter::ReadTable(Json table,
                                      absl::flat_hash_map<absl::string_view, Json>* values) {
  if (!table.is_there()) return absl::OkStatus();
  RETURN_IF_ERROR(table.ExpectObject());
  values->reserve(table.size() / 2);
  return table.ForEachMember([&](absl::string_view name, Json value) {
    if (values->try_emplace(name, value).second) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("two values are named ", Printable(name)));
  });
}

namespace {

// A size as written: a number, or an expression, with its value in the example if it is given.
struct WrittenSize {
  std::optional<int64_t> number;
  absl::string_view srepr;
  JsonUnion hint;
};

absl::StatusOr<WrittenSize> ReadWrittenSize(Json size) {
  WrittenSize written;
  ASSIGN_OR_RETURN(const JsonUnion value, ReadUnion(size));
  if (value.kind == "as_int") {
    ASSIGN_OR_RETURN(written.number, value.value.Int());
    return written;
  }
  if (value.kind != "as_expr")
    return absl::InvalidArgumentError(absl::StrCat("a size cannot be ", Printable(value.kind)));
  Json text, hint;
  RETURN_IF_ERROR(ReadFields(value.value, {{"expr_str", &text}, {"hint", &hint, false}}));
  ASSIGN_OR_RETURN(written.srepr, text.String());
  if (hint.is_null()) return written;
  ASSIGN_OR_RETURN(written.hint, ReadUnion(hint));
  const auto& [kind, value_of_hint] = written.hint;
  absl::Status status;
  if (kind == "as_int") {
    status = value_of_hint.Int().status();
  } else if (kind == "as_float") {
    status = value_of_hint.Float().status();
  } else if (kind == "as_bool") {
    status = value_of_hint.Bool().status();
  } else {
    return absl::InvalidArgumentError(absl::StrCat("a hint cannot be ", Printable(kind)));
  }
  RETURN_IF_ERROR(Annotate(status, "hint"));
  return written;
}

// Checks that a table's numbers, used or not, are expressions or constants of the kind.
absl::Status CheckNumbers(absl::string_view table, absl::string_view constant, Json numbers) {
  if (!numbers.is_there()) return absl::OkStatus();
  return numbers.ForEachMember([&](absl::string_view name, Json number) -> absl::Status {
    const absl::StatusOr<JsonUnion> value = ReadUnion(number);
    absl::Status status = value.status();
    if (value.ok() && value->kind != constant) status = ReadWrittenSize(number).status();
    return Annotate(status, absl::StrCat(table, ": ", Printable(name)));
  });
}

}  // namespace

absl::StatusOr<std::optional<Dim>> GraphImporter::ReadSize(Json size) {
  ASSIGN_OR_RETURN(const WrittenSize written, ReadWrittenSize(size));
  if (written.number.has_value()) return Dim(*written.number);
  const absl::string_view srepr = written.srepr;
  const auto [it, is_new] = expressions_.try_emplace(srepr);
  if (is_new) {
    absl::StatusOr<const SymExpr*> parsed = ParseSympy(srepr, &module_);
    if (!parsed.ok()) {
      return Annotate(parsed.status(), absl::StrCat("expression ", Printable(srepr)));
    }
    it->second = *parsed;
    // The hint is the symbol's value in the example.
    if (*parsed != nullptr && (*parsed)->kind == SymExpr::Kind::kSymbol &&
        written.hint.kind == "as_int") {
      ASSIGN_OR_RETURN(const int64_t example, written.hint.value.Int());
      module_.AddSymbol((*parsed)->name, example);
    }
  }
  if (it->second == nullptr) return std::optional<Dim>();
  if (it->second->kind == SymExpr::Kind::kInt) return Dim(it->second->value);
  return Dim(it->second);
}

absl::StatusOr<const ValueMeta*> GraphImporter::ReadMeta(Json meta) {
  Json dtype, sizes, strides, offset, layout, requires_grad, device;
  RETURN_IF_ERROR(ReadFields(meta, {{"dtype", &dtype},
                                    {"sizes", &sizes},
                                    {"requires_grad", &requires_grad},
                                    {"device", &device},
                                    {"strides", &strides},
                                    {"storage_offset", &offset},
                                    {"layout", &layout}}));
  TensorMeta made;
  ASSIGN_OR_RETURN(made.dtype, ReadScalarType(dtype));
  made.has_device = true;
  ASSIGN_OR_RETURN(made.device, ReadDevice(device));
  RETURN_IF_ERROR(sizes.ExpectArray());
  if (sizes.size() > kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat(sizes.size(), " dimensions, over the limit of ", kMaxRank));
  }
  made.has_shape = true;
  Dim shape[kMaxRank];
  size_t rank = 0;
  for (const Json size : sizes.elements()) {
    ASSIGN_OR_RETURN(const std::optional<Dim> dim, ReadSize(size));
    if (!dim) made.has_shape = false;
    if (dim && dim->is_static() && dim->value < 0) {
      return absl::InvalidArgumentError("a negative size");
    }
    shape[rank++] = dim.value_or(Dim());
  }
  if (made.has_shape) made.shape = absl::MakeConstSpan(shape, rank);
  RETURN_IF_ERROR(strides.ExpectArray());
  if (strides.size() != sizes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(sizes.size(), " sizes and ", strides.size(), " strides"));
  }
  for (const Json stride : strides.elements()) {
    ASSIGN_OR_RETURN(const std::optional<Dim> step, ReadSize(stride));
    if (step && step->is_static() && step->value < 0) {
      return absl::InvalidArgumentError("a negative stride");
    }
  }
  RETURN_IF_ERROR(ReadSize(offset).status());
  RETURN_IF_ERROR(ReadLayout(layout).status());
  RETURN_IF_ERROR(requires_grad.Bool().status());
  return module_.InternValueMeta(made);
}

absl::StatusOr<const ValueMeta*> GraphImporter::MetaOf(absl::string_view value, Scope* scope) {
  const auto it = scope->tensors.find(value);
  if (it == scope->tensors.end()) return nullptr;
  absl::StatusOr<const ValueMeta*> meta = ReadMeta(it->second);
  if (meta.ok()) return meta;
  return Annotate(meta.status(), absl::StrCat("value ", Printable(value)));
}

// --- The whole graph ---------------------------------------------------------

absl::Status GraphImporter::Run(Json graph_module) {
  Json graph, signature, calls, named_tuples;
  RETURN_IF_ERROR(ReadFields(graph_module, {{"graph", &graph},
                                            {"signature", &signature},
                                            {"module_call_graph", &calls},
                                            {"treespec_namedtuple_fields", &named_tuples, false}}));
  if (named_tuples.is_there() && named_tuples.kind() != Json::Kind::kObject)
    return absl::InvalidArgumentError("treespec_namedtuple_fields: expected an object");
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
  RETURN_IF_ERROR(Annotate(ImportNodes(nodes, &scope), "graph_module"));
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
  RETURN_IF_ERROR(ReadTable(ints, &scope->sizes));
  RETURN_IF_ERROR(CheckNumbers("sym_int_values", "as_int", ints));
  RETURN_IF_ERROR(CheckNumbers("sym_bool_values", "as_bool", bools));
  RETURN_IF_ERROR(CheckNumbers("sym_float_values", "as_float", floats));
  for (const Json table : {bools, floats, objects}) {
    RETURN_IF_ERROR(ReadTable(table, &scope->others));
  }
  return absl::OkStatus();
}

absl::StatusOr<Graph*> GraphImporter::ImportBody(Json argument, int depth) {
  if (depth > kMaxNesting)
    return absl::InvalidArgumentError(absl::StrCat("graphs nest deeper than ", kMaxNesting));
  Json name_field, graph;
  RETURN_IF_ERROR(ReadFields(argument, {{"name", &name_field}, {"graph", &graph}}));
  ASSIGN_OR_RETURN(const absl::string_view name, name_field.String());
  if (name.empty() || name.size() > kMaxNameBytes)
    return absl::InvalidArgumentError("a graph without a usable name");
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
  RETURN_IF_ERROR(fail(ImportNodes(nodes, &scope)));
  RETURN_IF_ERROR(fail(outputs.ExpectArray()));
  const auto read = [&](Json output) { return ReadOutput(output, scope); };
  absl::StatusOr<Argument> results = ReadList(outputs, read, /*tuple=*/true);
  if (!results.ok()) return fail(results.status());
  bool is_single = false;
  if (!single.is_null()) {
    ASSIGN_OR_RETURN(is_single, single.Bool());
  }
  if (is_single && results->elements().size() != 1) {
    return fail(absl::InvalidArgumentError("returns a single tensor and has several outputs"));
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
    // Ranges of expressions follow from those of their symbols.
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
      return fail(
          absl::InvalidArgumentError(absl::StrCat("it is empty, from ", **low, " to ", **high)));
    return absl::OkStatus();
  });
}

}  // namespace graphnet::pt2

#include "graphnet/formats/pt2/original.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/formats/pt2/expressions.h"
#include "graphnet/formats/pt2/importer.h"

namespace graphnet::pt2 {
namespace {

Json Field(Json object, absl::string_view name) {
  Json found;
  if (object.is_null() || object.kind() != Json::Kind::kObject) return found;
  ReadFields(object, {{name, &found, false}}).IgnoreError();
  return found;
}

absl::string_view TextOf(Json value) {
  const absl::StatusOr<absl::string_view> text = value.String();
  return text.ok() ? *text : absl::string_view();
}

void ReadTable(Json table, absl::flat_hash_map<absl::string_view, Json>* values) {
  if (table.is_null()) return;
  table
      .ForEachMember([&](absl::string_view name, Json value) {
        values->try_emplace(name, value);
        return absl::OkStatus();
      })
      .IgnoreError();
}

// Calls fn(name) on the values that an argument names, however deep.
template <typename Fn>
void ForEachName(Json argument, Fn&& fn) {
  if (argument.is_null() || argument.kind() < Json::Kind::kArray) return;
  if (argument.kind() == Json::Kind::kArray) {
    for (const Json element : argument.elements()) ForEachName(element, fn);
    return;
  }
  argument
      .ForEachMember([&](absl::string_view key, Json value) {
        if ((key == "name" || key == "as_name") && value.is_string()) {
          fn(TextOf(value));
        } else if (key != "as_graph") {
          ForEachName(value, fn);
        }
        return absl::OkStatus();
      })
      .IgnoreError();
}

}  // namespace

Original Original::Of(const Sample& sample) {
  Original original;
  const auto parse = [&](absl::string_view file) -> std::unique_ptr<JsonDocument> {
    const auto it = sample.extra_files.find(std::string(file));
    if (it == sample.extra_files.end()) return nullptr;
    absl::StatusOr<JsonDocument> document = JsonDocument::Parse(it->second);
    if (!document.ok()) return nullptr;
    return std::make_unique<JsonDocument>(*std::move(document));
  };
  original.document_ = parse(kProgramFile);
  if (original.document_ == nullptr) return original;
  original.text_ = sample.extra_files.at(std::string(kProgramFile));
  for (const absl::string_view file : {kProgramWeightsFile, kProgramConstantsFile}) {
    std::unique_ptr<JsonDocument> config = parse(file);
    if (config == nullptr) continue;
    ReadTable(Field(config->root(), "config"), &original.payloads_);
    original.configs_.push_back(std::move(config));
  }
  original.Read(original.document_->root());
  return original;
}

Original::Tables Original::TablesOf(Json graph) {
  Tables tables;
  ReadTable(Field(graph, "tensor_values"), &tables.tensors);
  ReadTable(Field(graph, "sym_int_values"), &tables.ints);
  ReadTable(Field(graph, "sym_float_values"), &tables.floats);
  ReadTable(Field(graph, "sym_bool_values"), &tables.bools);
  for (const Json node : Field(graph, "nodes").elements()) {
    if (const absl::string_view name = TextOf(Field(node, "name")); !name.empty()) {
      tables.nodes.try_emplace(name, node);
    }
    ForEachName(Field(node, "outputs"),
                [&](absl::string_view name) { tables.nodes.try_emplace(name, node); });
    for (const Json input : Field(node, "inputs").elements()) {
      const Json body = Field(Field(input, "arg"), "as_graph");
      if (!body.is_null()) tables.graphs.try_emplace(TextOf(Field(body, "name")), body);
    }
  }
  return tables;
}

void Original::Read(Json root) {
  const Json graph_module = Field(root, "graph_module");
  ranges_ = Field(root, "range_constraints");
  guards_ = Field(root, "guards_code");
  named_tuples_ = Field(graph_module, "treespec_namedtuple_fields");
  main_ = TablesOf(Field(graph_module, "graph"));
  for (const Json spec : Field(Field(graph_module, "signature"), "input_specs").elements()) {
    const absl::StatusOr<JsonUnion> kind = ReadUnion(spec);
    if (!kind.ok()) continue;
    if (kind->kind == "user_input" || kind->kind == "constant_input") {
      user_inputs_.push_back(spec);
      continue;
    }
    const absl::string_view name = TextOf(Field(kind->value, absl::StrCat(kind->kind, "_name")));
    if (!name.empty()) specs_.try_emplace(name, spec);
  }
  for (const Json call : Field(graph_module, "module_call_graph").elements()) {
    const absl::string_view path = TextOf(Field(call, "fqn"));
    if (path.empty()) {
      call_ = Field(call, "signature");
    } else {
      modules_.emplace_back(path);
    }
  }
}

Json Original::AttributeSpec(absl::string_view name) const {
  const auto it = specs_.find(name);
  return it == specs_.end() ? Json() : it->second;
}

Json Original::Payload(absl::string_view name) const {
  const auto it = payloads_.find(name);
  return it == payloads_.end() ? Json() : it->second;
}

std::string Original::SymbolText(absl::string_view name) const {
  const std::string begin = absl::StrCat("Symbol('", name, "'");
  const size_t at = text_.find(begin);
  if (at == std::string::npos) return "";
  const size_t end = text_.find(')', at);
  if (end == std::string::npos) return "";
  std::string text = text_.substr(at, end + 1 - at);
  Module scratch;
  return ParseSympy(text, &scratch).ok() ? text : "";
}

size_t NumGuards(const Sample& sample) {
  const Original original = Original::Of(sample);
  size_t count = 0;
  for ([[maybe_unused]] const Json guard : original.guards().elements()) ++count;
  return count;
}

}  // namespace graphnet::pt2

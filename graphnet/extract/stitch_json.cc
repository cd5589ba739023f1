#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graphnet/base/utf8.h"
#include "graphnet/extract/description.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "nlohmann/json.hpp"

namespace graphnet {
namespace {

using Json = nlohmann::ordered_json;
using Kind = ValueTree::Kind;

// Values that JSON can hold are written directly; others are objects whose first key is their kind.
Json ToJson(const ValueTree& tree) {
  const auto number = [](double value) -> Json {
    if (std::isfinite(value)) return value;
    return {{"float", std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"}};
  };
  Json elements = Json::array();
  if (tree.kind == Kind::kDict) {
    for (size_t i = 0; i + 1 < tree.elements.size(); i += 2)
      elements.push_back(Json::array({ToJson(tree.elements[i]), ToJson(tree.elements[i + 1])}));
  } else {
    for (const ValueTree& element : tree.elements) elements.push_back(ToJson(element));
  }
  switch (tree.kind) {
    case Kind::kNone: return nullptr;
    case Kind::kTensor: return {{"tensor", tree.number}};
    case Kind::kBool: return tree.number != 0;
    case Kind::kInt: return tree.number;
    case Kind::kFloat: return number(tree.real);
    case Kind::kComplex:
      return {{"complex", Json::array({number(tree.real), number(tree.imaginary)})}};
    case Kind::kString:
      if (IsUtf8(tree.text)) return tree.text;
      for (const char c : tree.text) elements.push_back(static_cast<unsigned char>(c));
      return {{"bytes", std::move(elements)}};
    case Kind::kDevice: return {{"device", tree.text}};
    case Kind::kList: return {{"list", std::move(elements)}, {"type", tree.text}};
    case Kind::kTuple: return {{"tuple", std::move(elements)}};
    case Kind::kDict: return {{"dict", std::move(elements)}, {"type", tree.text}};
    case Kind::kSize: return {{"size", tree.text}};
    case Kind::kObject: return {{"object", tree.number}};
    case Kind::kNumber: {
      const bool is_int = tree.elements[0].kind == Kind::kInt;
      return {{"number", tree.number}, {"type", is_int ? "int" : "float"}};
    }
  }
  return nullptr;
}

Json Place(const std::string& file, int64_t line) {
  return {{"file", file.empty() ? Json() : Json(file)}, {"line", line > 0 ? Json(line) : Json()}};
}

// Rows of numbered values, in order.
using Rows = std::map<int64_t, Json>;
struct Numbered {
  Rows tensors, objects, numbers;
};

void AddNumbers(const ValueTree& tree, const Json& from, Numbered* rows) {
  if (tree.kind == Kind::kTensor) {
    rows->tensors.try_emplace(tree.number, Json{{"tensor", tree.number}, {"from", from}});
  } else if (tree.kind == Kind::kObject) {
    rows->objects.try_emplace(tree.number, Json{{"object", tree.number}, {"from", from}});
  } else if (tree.kind == Kind::kNumber) {
    rows->numbers.try_emplace(
        tree.number,
        Json{{"number", tree.number}, {"from", from}, {"example", ToJson(tree.elements[0])}});
  }
  for (const ValueTree& element : tree.elements) AddNumbers(element, from, rows);
}

// Adds the facts about a tensor, from its guard or from the graph that returns it.
void Describe(const TensorGuard& guard, Json* row) {
  Json shape = Json::array();
  for (size_t i = 0; i < guard.sizes.size(); ++i) {
    const bool symbolic = i < guard.symbolic.size() && !guard.symbolic[i].empty();
    shape.push_back(symbolic ? Json(guard.symbolic[i]) : Json(guard.sizes[i]));
  }
  row->update({{"dtype", std::string(DTypeName(guard.dtype))},
               {"device", guard.device},
               {"shape", std::move(shape)},
               {"example", guard.sizes}});
}

std::optional<TensorGuard> GuardOf(const Module& module, const TensorMeta* meta) {
  if (meta == nullptr || !meta->has_shape || meta->dtype == DType::kUnknown) return std::nullopt;
  TensorGuard guard;
  guard.dtype = meta->dtype;
  guard.device = "cpu";
  if (meta->has_device) {
    guard.device = std::string(DeviceTypeName(meta->device.type));
    if (meta->device.index >= 0) absl::StrAppend(&guard.device, ":", meta->device.index);
  }
  for (const Dim& dim : meta->shape) {
    const std::optional<int64_t> size =
        dim.is_static() ? dim.value : EvaluateWithExamples(module, *dim.expr);
    if (!size) return std::nullopt;
    guard.sizes.push_back(*size);
    guard.symbolic.push_back(dim.is_static() ? "" : PrintSymExpr(*dim.expr));
  }
  return guard;
}

// Collects numbered values in the order in which they are made.
Numbered CollectNumbers(const ExtractedProgram& program) {
  const StitchManifest& manifest = program.manifest;
  Numbered rows;
  Rows& tensors = rows.tensors;
  for (const auto& [number, name] : manifest.constants) {
    tensors.try_emplace(number, Json{{"tensor", number}, {"from", {{"attribute", name}}}});
  }
  for (const auto& [number, path] : manifest.objects)
    rows.objects.try_emplace(number, Json{{"object", number}, {"from", {{"attribute", path}}}});
  for (const auto& input : manifest.inputs)
    AddNumbers(input.pattern, {{"input", input.name}}, &rows);
  for (const auto& state : manifest.states) {
    const std::string name = absl::StrCat(state.path, state.path.empty() ? "" : ".", state.name);
    AddNumbers(state.pattern, {{"state", name}}, &rows);
  }
  for (size_t i = 0; i < manifest.steps.size(); ++i) {
    const StitchStep& step = manifest.steps[i];
    for (const ValueTree& result : step.results) AddNumbers(result, {{"step", i}}, &rows);
    for (size_t k = 0; k < step.outputs.size(); ++k) {
      const auto [it, added] = tensors.try_emplace(
          step.outputs[k], Json{{"tensor", step.outputs[k]}, {"from", {{"step", i}}}});
      if (!added || static_cast<size_t>(step.subgraph) >= program.subgraphs.size()) continue;
      const Module& module = *program.subgraphs[static_cast<size_t>(step.subgraph)].module;
      const Node* output = module.main()->output();
      if (output == nullptr || !output->args()[0].is_tuple()) continue;
      const absl::Span<const Argument> values = output->args()[0].elements();
      if (k >= values.size() || !values[k].is_node()) continue;
      if (const auto guard = GuardOf(module, values[k].node()->tensor_meta()))
        Describe(*guard, &it->second);
    }
  }
  for (auto& [number, row] : tensors) {
    if (const auto it = manifest.tensors.find(number); it != manifest.tensors.end())
      Describe(it->second, &row);
    for (const char* key : {"dtype", "device", "shape", "example"}) {
      if (!row.contains(key)) row[key] = nullptr;
    }
  }
  return rows;
}

// Lists each stored tensor by name, and the file that holds it.
Json Attributes(const ExtractedProgram& program, const std::vector<SubgraphFiles>& files) {
  const StitchManifest& manifest = program.manifest;
  std::map<std::string, Json> rows;
  const auto add = [&](const std::map<std::string, TensorData>& tensors, const std::string& name,
                       const std::string& file, bool gradient) {
    const auto data = tensors.find(name);
    Json row = {{"file", file}, {"dtype", nullptr}, {"shape", nullptr}, {"strides", nullptr}};
    if (data != tensors.end()) {
      row["dtype"] = std::string(DTypeName(data->second.dtype));
      row["shape"] = data->second.shape;
    }
    if (const auto it = manifest.strides.find(name); it != manifest.strides.end())
      row["strides"] = it->second;
    row["requires_grad"] = gradient;
    const auto [it, added] = rows.try_emplace(name, std::move(row));
    if (!added && gradient) it->second["requires_grad"] = true;
  };
  for (const auto& [number, name] : manifest.constants)
    add(program.tensors, name, "stitch.safetensors", false);
  for (const int64_t number : manifest.parameters) {
    const auto it = manifest.constants.find(number);
    if (it != manifest.constants.end())
      add(program.tensors, it->second, "stitch.safetensors", true);
  }
  for (size_t i = 0; i < program.subgraphs.size() && i < files.size(); ++i) {
    const std::string& file = files[i].weights.empty() ? "stitch.safetensors" : files[i].weights;
    for (const Attribute& attribute : program.subgraphs[i].module->attributes())
      add(program.subgraphs[i].weights, std::string(attribute.name), file,
          attribute.annotation == kParameterAnnotation);
  }
  Json out = Json::array();
  for (auto& [name, row] : rows) {
    out.push_back({{"name", name}});
    out.back().update(row);
  }
  return out;
}

Json Step(const StitchStep& step, const Rows& numbers) {
  Json inputs = Json::array(), outputs = Json::array();
  if (step.subgraph >= 0) {
    for (const std::string& symbol : step.symbols) inputs.push_back({{"size", symbol}});
    for (const int64_t number : step.inputs)
      inputs.push_back({{numbers.count(number) > 0 ? "number" : "tensor", number}});
    for (const int64_t number : step.outputs) outputs.push_back({{"tensor", number}});
    return {{"subgraph", step.subgraph}, {"inputs", inputs}, {"outputs", outputs}};
  }
  for (const ValueTree& operand : step.operands) inputs.push_back(ToJson(operand));
  for (const ValueTree& result : step.results) outputs.push_back(ToJson(result));
  Json row = {
      {"operation", step.op},
      {"overload", step.overload},
      {"inputs", inputs},
      {"outputs", outputs},
      {"reason",
       step.reason == BreakReason::kNone ? Json() : Json(std::string(TextOf(step.reason).name))}};
  row.update(Place(step.file, step.line));
  row["column"] = step.line > 0 ? Json(step.column) : Json();
  row["source"] = step.source.empty() ? Json() : Json(step.source);
  return row;
}

}  // namespace

std::string StitchJson(const ExtractedProgram& program, const std::vector<SubgraphFiles>& files) {
  const StitchManifest& manifest = program.manifest;
  const auto list = [](const auto& from, auto&& row_of) {
    Json rows = Json::array();
    for (const auto& element : from) rows.push_back(row_of(element));
    return rows;
  };
  Json out;
  out["format"] = "graphnet stitched program";
  out["version"] = 1;
  out["name"] = manifest.name;
  out["archive"] = manifest.archive.empty() ? Json() : Json(manifest.archive);
  out["symbols"] = list(manifest.symbols, [](const auto& symbol) {
    return Json{{"name", symbol.name}, {"example", symbol.example}};
  });
  out["relations"] = list(manifest.relations, [](const auto& relation) {
    Json row = {{"text", relation.text}};
    row.update(Place(relation.file, relation.line));
    return row;
  });
  out["inputs"] = list(manifest.inputs, [](const auto& input) {
    return Json{{"name", input.name},
                {"value", ToJson(input.pattern)},
                {"after", input.after ? ToJson(*input.after) : Json()}};
  });
  out["states"] = list(manifest.states, [](const auto& state) {
    return Json{{"path", state.path}, {"name", state.name}, {"value", ToJson(state.pattern)}};
  });
  const Numbered numbered = CollectNumbers(program);
  out["tensors"] = list(numbered.tensors, [](const auto& row) { return row.second; });
  out["attributes"] = Attributes(program, files);
  out["objects"] = list(numbered.objects, [](const auto& row) { return row.second; });
  out["numbers"] = list(numbered.numbers, [](const auto& row) { return row.second; });
  out["subgraphs"] = Json::array();
  for (size_t i = 0; i < manifest.subgraphs.size(); ++i) {
    const StitchManifest::Subgraph& subgraph = manifest.subgraphs[i];
    const SubgraphFiles none;
    const SubgraphFiles& file = i < files.size() ? files[i] : none;
    const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
    out["subgraphs"].push_back(
        {{"name", subgraph.name},
         {"hash", subgraph.hash},
         {"duplicate_of", subgraph.duplicate_of < 0 ? Json() : Json(subgraph.duplicate_of)},
         {"calls", subgraph.num_calls},
         {"sample", or_null(file.sample)},
         {"python", or_null(file.python)},
         {"why_not", or_null(file.why_not)},
         {"attributes", file.attributes}});
  }
  out["steps"] =
      list(manifest.steps, [&](const StitchStep& step) { return Step(step, numbered.numbers); });
  out["result"] = ToJson(manifest.result);

  // Each row of a table is one line, for readers and for line-by-line tools.
  const auto dump = [](const Json& value) {
    return value.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  };
  std::string text = "{";
  for (const auto& [key, value] : out.items()) {
    absl::StrAppend(&text, text.size() > 1 ? "," : "", "\n \"", key, "\": ");
    if (!value.is_array() || value.empty()) {
      absl::StrAppend(&text, dump(value));
      continue;
    }
    const char* before = "[\n  ";
    for (const Json& row : value) {
      absl::StrAppend(&text, before, dump(row));
      before = ",\n  ";
    }
    absl::StrAppend(&text, "\n ]");
  }
  return text + "\n}\n";
}

}  // namespace graphnet

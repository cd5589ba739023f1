#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graphnet/base/json.h"
#include "graphnet/base/utf8.h"
#include "graphnet/extract/description.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

using Kind = ValueTree::Kind;

// Values that JSON can hold are written directly; others are objects whose first key is their kind.
Json ToJson(const ValueTree& tree) {
  const auto object = [](absl::string_view kind, Json value) {
    return Json::Object({{kind, std::move(value)}});
  };
  const auto number = [&](double value) -> Json {
    if (std::isfinite(value)) return value;
    return object("float", std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  };
  Json elements = Json::List();
  if (tree.kind == Kind::kDict) {
    for (size_t i = 0; i + 1 < tree.elements.size(); i += 2)
      elements.push_back(Json(std::vector{ToJson(tree.elements[i]), ToJson(tree.elements[i + 1])}));
  } else {
    for (const ValueTree& element : tree.elements) elements.push_back(ToJson(element));
  }
  switch (tree.kind) {
    case Kind::kNone: return {};
    case Kind::kTensor: return object("tensor", tree.number);
    case Kind::kBool: return tree.number != 0;
    case Kind::kInt: return tree.number;
    case Kind::kFloat: return number(tree.real);
    case Kind::kComplex:
      return object("complex", Json(std::vector{number(tree.real), number(tree.imaginary)}));
    case Kind::kString:
      if (IsUtf8(tree.text)) return tree.text;
      for (const char c : tree.text) elements.push_back(static_cast<unsigned char>(c));
      return object("bytes", std::move(elements));
    case Kind::kDevice: return object("device", tree.text);
    case Kind::kList: return Json::Object({{"list", std::move(elements)}, {"type", tree.text}});
    case Kind::kTuple: return object("tuple", std::move(elements));
    case Kind::kDict: return Json::Object({{"dict", std::move(elements)}, {"type", tree.text}});
    case Kind::kSize: return object("size", tree.text);
    case Kind::kObject: return object("object", tree.number);
    case Kind::kNumber: {
      const bool is_int = tree.elements[0].kind == Kind::kInt;
      return Json::Object({{"number", tree.number}, {"type", is_int ? "int" : "float"}});
    }
  }
  return {};
}

// Returns null in the place of an empty text.
Json OrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json Place(const std::string& file, int64_t line) {
  return Json::Object({{"file", OrNull(file)}, {"line", line > 0 ? Json(line) : Json()}});
}

// Rows of numbered values, in order.
using Rows = std::map<int64_t, Json>;
struct Numbered {
  Rows tensors, objects, numbers;
};

// Adds a row, unless the number has one. Returns the row.
Json* AddRow(absl::string_view kind, int64_t number, const Json& from, Rows* rows) {
  return &rows->try_emplace(number, Json::Object({{kind, number}, {"from", from}})).first->second;
}

void AddNumbers(const ValueTree& tree, const Json& from, Numbered* rows) {
  if (tree.kind == Kind::kTensor) {
    AddRow("tensor", tree.number, from, &rows->tensors);
  } else if (tree.kind == Kind::kObject) {
    AddRow("object", tree.number, from, &rows->objects);
  } else if (tree.kind == Kind::kNumber) {
    Json* const row = AddRow("number", tree.number, from, &rows->numbers);
    if (row->Find("example") == nullptr) (*row)["example"] = ToJson(tree.elements[0]);
  }
  for (const ValueTree& element : tree.elements) AddNumbers(element, from, rows);
}

// Adds the facts about a tensor, from its guard or from the graph that returns it.
void Describe(const TensorGuard& guard, Json* row) {
  Json shape = Json::List();
  for (size_t i = 0; i < guard.sizes.size(); ++i) {
    const bool symbolic = i < guard.symbolic.size() && !guard.symbolic[i].empty();
    shape.push_back(symbolic ? Json(guard.symbolic[i]) : Json(guard.sizes[i]));
  }
  row->Merge(Json::Object({{"dtype", DTypeName(guard.dtype)},
                           {"device", guard.device},
                           {"shape", std::move(shape)},
                           {"example", guard.sizes}}));
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
  const auto from = [](absl::string_view kind, Json what) {
    return Json::Object({{kind, std::move(what)}});
  };
  for (const auto& [number, name] : manifest.constants)
    AddRow("tensor", number, from("attribute", name), &tensors);
  for (const auto& [number, path] : manifest.objects)
    AddRow("object", number, from("attribute", path), &rows.objects);
  for (const auto& input : manifest.inputs)
    AddNumbers(input.pattern, from("input", input.name), &rows);
  for (const auto& state : manifest.states) {
    const std::string name = absl::StrCat(state.path, state.path.empty() ? "" : ".", state.name);
    AddNumbers(state.pattern, from("state", name), &rows);
  }
  for (size_t i = 0; i < manifest.steps.size(); ++i) {
    const StitchStep& step = manifest.steps[i];
    for (const ValueTree& result : step.results) AddNumbers(result, from("step", i), &rows);
    for (size_t k = 0; k < step.outputs.size(); ++k) {
      const bool is_new = !tensors.contains(step.outputs[k]);
      Json* const row = AddRow("tensor", step.outputs[k], from("step", i), &tensors);
      if (!is_new || static_cast<size_t>(step.subgraph) >= program.subgraphs.size()) continue;
      const Module& module = *program.subgraphs[static_cast<size_t>(step.subgraph)].module;
      const Node* output = module.main()->output();
      if (output == nullptr || !output->args()[0].is_tuple()) continue;
      const absl::Span<const Argument> values = output->args()[0].elements();
      if (k >= values.size() || !values[k].is_node()) continue;
      if (const auto guard = GuardOf(module, values[k].node()->tensor_meta()))
        Describe(*guard, row);
    }
  }
  for (auto& [number, row] : tensors) {
    if (const auto it = manifest.tensors.find(number); it != manifest.tensors.end())
      Describe(it->second, &row);
    for (const char* key : {"dtype", "device", "shape", "example"}) row[key];  // null if it is new
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
    Json row = Json::Object(
        {{"name", name}, {"file", file}, {"dtype", {}}, {"shape", {}}, {"strides", {}}});
    if (data != tensors.end()) {
      row["dtype"] = DTypeName(data->second.dtype);
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
  Json out = Json::List();
  for (auto& [name, row] : rows) out.push_back(std::move(row));
  return out;
}

Json Step(const StitchStep& step, const Rows& numbers) {
  Json inputs = Json::List(), outputs = Json::List();
  if (step.subgraph >= 0) {
    for (const std::string& symbol : step.symbols)
      inputs.push_back(Json::Object({{"size", symbol}}));
    for (const int64_t number : step.inputs)
      inputs.push_back(Json::Object({{numbers.contains(number) ? "number" : "tensor", number}}));
    for (const int64_t number : step.outputs) outputs.push_back(Json::Object({{"tensor", number}}));
    return Json::Object({{"subgraph", step.subgraph}, {"inputs", inputs}, {"outputs", outputs}});
  }
  for (const ValueTree& operand : step.operands) inputs.push_back(ToJson(operand));
  for (const ValueTree& result : step.results) outputs.push_back(ToJson(result));
  const bool is_break = step.reason != BreakReason::kNone;
  Json row = Json::Object({{"operation", step.op},
                           {"overload", step.overload},
                           {"inputs", inputs},
                           {"outputs", outputs},
                           {"reason", is_break ? Json(TextOf(step.reason).name) : Json()}});
  row.Merge(Place(step.file, step.line));
  row["column"] = step.line > 0 ? Json(step.column) : Json();
  row["source"] = OrNull(step.source);
  return row;
}

}  // namespace

std::string StitchJson(const ExtractedProgram& program, const std::vector<SubgraphFiles>& files) {
  const StitchManifest& manifest = program.manifest;
  Json out = Json::Object({{"format", "graphnet stitched program"},
                           {"version", 1},
                           {"name", manifest.name},
                           {"archive", OrNull(manifest.archive)}});
  const auto list = [&out](absl::string_view key, const auto& from, auto&& row_of) {
    Json& rows = out[key] = Json::List();
    for (const auto& element : from) rows.push_back(row_of(element));
  };
  list("symbols", manifest.symbols, [](const auto& symbol) {
    return Json::Object({{"name", symbol.name}, {"example", symbol.example}});
  });
  list("relations", manifest.relations, [](const auto& relation) {
    Json row = Json::Object({{"text", relation.text}});
    row.Merge(Place(relation.file, relation.line));
    return row;
  });
  list("inputs", manifest.inputs, [](const auto& input) {
    return Json::Object({{"name", input.name},
                         {"value", ToJson(input.pattern)},
                         {"after", input.after ? ToJson(*input.after) : Json()}});
  });
  list("states", manifest.states, [](const auto& state) {
    return Json::Object(
        {{"path", state.path}, {"name", state.name}, {"value", ToJson(state.pattern)}});
  });
  const Numbered numbered = CollectNumbers(program);
  const auto value_of = [](const auto& row) { return row.second; };
  list("tensors", numbered.tensors, value_of);
  out["attributes"] = Attributes(program, files);
  list("objects", numbered.objects, value_of);
  list("numbers", numbered.numbers, value_of);
  Json& subgraphs = out["subgraphs"] = Json::List();
  for (size_t i = 0; i < manifest.subgraphs.size(); ++i) {
    const StitchManifest::Subgraph& subgraph = manifest.subgraphs[i];
    const SubgraphFiles file = i < files.size() ? files[i] : SubgraphFiles();
    subgraphs.push_back(Json::Object(
        {{"name", subgraph.name},
         {"hash", subgraph.hash},
         {"duplicate_of", subgraph.duplicate_of < 0 ? Json() : Json(subgraph.duplicate_of)},
         {"calls", subgraph.num_calls},
         {"sample", OrNull(file.sample)},
         {"python", OrNull(file.python)},
         {"why_not", OrNull(file.why_not)},
         {"attributes", file.attributes}}));
  }
  list("steps", manifest.steps,
       [&](const StitchStep& step) { return Step(step, numbered.numbers); });
  out["result"] = ToJson(manifest.result);
  return out.DumpRows(/*indent=*/1, /*row_indent=*/2);
}

}  // namespace graphnet

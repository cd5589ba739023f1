#include "graphnet/cli/json.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/options.h"
#include "graphnet/formats/formats.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/statistics.h"
#include "graphnet/ir/text/printer.h"
#include "nlohmann/json.hpp"

namespace graphnet {

struct JsonForm {
  using Made = nlohmann::ordered_json;
  static Json FromMade(const Made& made) {
    Json json;
    switch (made.type()) {
      case Made::value_t::boolean: return made.get<bool>();
      case Made::value_t::number_integer:
      case Made::value_t::number_unsigned: return made.get<int64_t>();
      case Made::value_t::number_float: return made.get<double>();
      case Made::value_t::string: return made.get<std::string>();
      case Made::value_t::array:
        json = Json::List();
        for (const Made& element : made) json.push_back(FromMade(element));
        return json;
      case Made::value_t::object:
        json = Json::Object();
        for (const auto& [name, value] : made.items()) json[name] = FromMade(value);
        return json;
      default: return json;
    }
  }
  Made operator()(std::monostate) const { return {}; }
  template <typename T>
  Made operator()(const T& value) const {
    return value;
  }
  Made operator()(const std::vector<Json>& list) const {
    Made made = Made::array();
    for (const Json& element : list) made.push_back(std::visit(*this, element.value_));
    return made;
  }
  Made operator()(const Json::Members& members) const {
    Made made = Made::object();
    // All names differ, so no member has to be looked up.
    Made::object_t::Container& object = made.get_ref<Made::object_t&>();
    for (const auto& [name, value] : members.all)
      object.emplace_back(name, std::visit(*this, value.value_));
    return made;
  }
  Made operator()(const Json& json) const { return std::visit(*this, json.value_); }
};

namespace {

Json Value(const Node& node) {
  Json value;
  value["name"] = node.name();
  SetMeta(node.meta(), &value);
  return value;
}

Json NodeJson(const Node& node) {
  Json json;
  json["name"] = node.name();
  json["op"] = OpName(node.op());
  json["target"] = node.target();
  SetArguments(node, &json);
  SetMeta(node.meta(), &json);
  if (!node.annotation().empty()) json["annotation"] = node.annotation();
  if (!node.module_path().empty()) json["module"] = node.module_path();
  if (const SourceLocation location = node.location(); location.line > 0) {
    json["file"] = location.file;
    json["line"] = location.line;
    json["column"] = location.column;
  }
  return json;
}

}  // namespace

Json Json::Parse(const std::string& text) {
  return JsonForm::FromMade(JsonForm::Made::parse(text, nullptr, /*allow_exceptions=*/false));
}

void Json::Merge(Json object) {
  for (auto& [name, value] : std::get<Members>(object.value_).all) (*this)[name] = std::move(value);
}

Json& Json::operator[](absl::string_view name) {
  if (std::holds_alternative<std::monostate>(value_)) value_.emplace<Members>();
  constexpr size_t kMany = 32;
  auto& [all, places] = std::get<Members>(value_);
  if (all.size() < kMany) {
    for (auto& [other, value] : all) {
      if (other == name) return value;
    }
  } else {
    if (places.empty()) {
      for (size_t i = 0; i < all.size(); ++i) places.emplace(all[i].first, i);
    }
    const auto [it, is_new] = places.emplace(name, all.size());
    if (!is_new) return all[it->second].second;
  }
  return all.emplace_back(std::string(name), Json()).second;
}

void Json::push_back(Json element) {
  if (std::holds_alternative<std::monostate>(value_)) value_.emplace<std::vector<Json>>();
  std::get<std::vector<Json>>(value_).push_back(std::move(element));
}

std::string Json::Dump(int indent) const {
  return JsonForm()(*this).dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

CLI::Option* AddJsonOption(CLI::App* command, bool* json, absl::string_view members) {
  return command
      ->add_flag("--json", *json, absl::StrCat("Print one JSON document instead: ", members))
      ->group(kOutputGroup);
}

void PrintJson(const Json& document, FILE* out) {
  const std::string text = document.Dump();
  std::fwrite(text.data(), 1, text.size(), out);
  std::fputc('\n', out);
}

Json ErrorJson(const absl::Status& status) {
  Json error;
  error["message"] = absl::string_view(status.message());
  if (const std::string format = FormatOfError(status); !format.empty()) error["format"] = format;
  if (const std::optional<ErrorPlace> place = PlaceOf(status)) {
    error["file"] = place->file;
    if (place->line > 0) error["line"] = place->line;
    if (place->column > 0) error["column"] = place->column;
  }
  return error;
}

Json SampleJson(const std::string& path, const absl::Status& status) {
  Json sample;
  sample["path"] = path;
  if (!status.ok()) sample["error"] = ErrorJson(status);
  return sample;
}

Json SamplesJson(std::vector<Json> samples, size_t failed) {
  Json document;
  const size_t passed = samples.size() - failed;
  document["samples"] = Json(std::move(samples));
  document["passed"] = passed;
  document["failed"] = failed;
  return document;
}

void SetMeta(const TensorMeta* meta, Json* value) {
  if (meta == nullptr) return;
  if (meta->dtype != DType::kUnknown) (*value)["dtype"] = DTypeShortName(meta->dtype);
  if (meta->has_shape) {
    Json& shape = (*value)["shape"] = Json::List();
    for (const Dim& dim : meta->shape)
      shape.push_back(dim.is_static() ? Json(dim.value) : Json(PrintSymExpr(*dim.expr)));
  }
  if (meta->has_device) (*value)["device"] = DeviceName(meta->device);
}

void SetMeta(const ValueMeta* meta, Json* value) {
  if (meta == nullptr) return;
  SetMeta(meta->tensor, value);
  if (!meta->is_tuple) return;
  Json& elements = (*value)["elements"] = Json::List();
  for (const ValueMeta* element : meta->elements) {
    Json made = Json::Object();
    SetMeta(element, &made);
    elements.push_back(std::move(made));
  }
}

void SetArguments(const Node& node, Json* value) {
  Json& args = (*value)["args"] = Json::List();
  for (const Argument& argument : node.args()) args.push_back(PrintArgument(argument));
  Json& kwargs = (*value)["kwargs"] = Json::Object();
  for (const KwArg& kwarg : node.kwargs()) kwargs[kwarg.name] = PrintArgument(kwarg.value);
}

Json InputsJson(const Graph& graph) {
  Json inputs = Json::List();
  for (const Node* node : graph.placeholders()) inputs.push_back(Value(*node));
  return inputs;
}

Json OutputsJson(const Graph& graph) {
  Json outputs = Json::List();
  graph.output()->ForEachOperand([&](const Node* node) { outputs.push_back(Value(*node)); });
  return outputs;
}

Json OutlineJson(const Sample& sample) {
  const Module& module = *sample.module;
  Json outline;
  outline["name"] = sample.name;
  outline["hash"] = CanonicalHash(module);
  outline["inputs"] = InputsJson(*module.main());
  outline["outputs"] = OutputsJson(*module.main());
  outline["attributes"] = Json::List();
  for (const Attribute& attribute : module.attributes()) {
    Json made;
    made["name"] = attribute.name;
    SetMeta(attribute.meta, &made);
    if (!attribute.annotation.empty()) made["annotation"] = attribute.annotation;
    outline["attributes"].push_back(std::move(made));
  }
  outline["symbols"] = Json::List();
  for (const Symbol& symbol : module.symbols()) {
    Json made;
    made["name"] = symbol.name;
    if (symbol.example.has_value()) made["example"] = *symbol.example;
    outline["symbols"].push_back(std::move(made));
  }
  outline["counts"] = Json::Object();
  for (const auto& [target, count] : ComputeStatistics(module).counts)
    outline["counts"][target] = count;
  outline["graphs"] = Json::List();
  for (const Graph* graph : module.graphs()) {
    Json made;
    made["name"] = graph->name();
    made["nodes"] = Json::List();
    for (const Node* node : graph->nodes()) made["nodes"].push_back(NodeJson(*node));
    outline["graphs"].push_back(std::move(made));
  }
  return outline;
}

}  // namespace graphnet

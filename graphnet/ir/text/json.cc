#include "graphnet/ir/text/json.h"

#include <utility>

#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/statistics.h"
#include "graphnet/ir/text/printer.h"

namespace graphnet {
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

Report OutlineReport(const Sample& sample) {
  const Module& module = *sample.module;
  Report outline;
  outline.Add("name", sample.name);
  outline.Add("hash", CanonicalHash(module));
  outline.Add("inputs", InputsJson(*module.main()));
  outline.Add("outputs", OutputsJson(*module.main()));
  Json attributes = Json::List();
  for (const Attribute& attribute : module.attributes()) {
    Json made;
    made["name"] = attribute.name;
    SetMeta(attribute.meta, &made);
    if (!attribute.annotation.empty()) made["annotation"] = attribute.annotation;
    attributes.push_back(std::move(made));
  }
  outline.Add("attributes", std::move(attributes));
  Table symbols = {{"name"}, {"example"}};
  for (const Symbol& symbol : module.symbols())
    symbols.Add({symbol.name, symbol.example.has_value() ? Cell(*symbol.example) : Cell()});
  outline.Add("symbols", std::move(symbols));
  Report counts;
  for (const auto& [target, count] : ComputeStatistics(module).counts) counts.Add(target, count);
  outline.Add("counts", std::move(counts));
  Table graphs = {{"name"}, {"nodes"}};
  for (const Graph* graph : module.graphs()) {
    Json nodes = Json::List();
    for (const Node* node : graph->nodes()) nodes.push_back(NodeJson(*node));
    graphs.Add({graph->name(), std::move(nodes)});
  }
  outline.Add("graphs", std::move(graphs));
  return outline;
}

}  // namespace graphnet

// Damage to the inputs and outputs of pieces.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/ir/graph.h"
#include "tests/validate/damage.h"

namespace graphnet {

namespace {

using GraphChange = std::function<std::string(Random& random, Graph* graph, bool last)>;

// Damages the ports of a piece. The configuration may stay as it was or follow the change.
MutationKind OnGraph(const std::string& name, const GraphChange& change) {
  return {name,
          [change](Random& random, const Decomposition&, Decomposition* made) -> Damage {
            std::vector<size_t> order;
            for (size_t i = 0; i < made->pieces.size(); ++i) order.push_back(i);
            std::shuffle(order.begin(), order.end(), random);
            for (const size_t i : order) {
              const std::string what =
                  change(random, GraphOf(made, i), i + 1 == made->pieces.size());
              if (what.empty()) continue;
              const bool follow = Below(random, 2) == 0;
              if (follow) RecordPorts(made->pieces, &made->config);
              return {absl::StrCat(what, " of piece ", i, follow ? ", configuration too" : ""),
                      static_cast<int>(i)};
            }
            return {};
          },
          nullptr};
}

std::vector<Argument> Returned(const Graph& graph) {
  const Argument& value = graph.output()->args()[0];
  if (!value.is_tuple()) return {};
  return {value.elements().begin(), value.elements().end()};
}

std::string SetReturned(Graph* graph, const std::vector<Argument>& values,
                        const std::string& what) {
  const Argument before = graph->output()->args()[0];
  if (Argument::Tuple(values) == before) return "";
  graph->output()->set_args({Argument::Tuple(values)});
  return what;
}

// Returns the placeholders with a shape in random order.
std::vector<Node*> PortsWithShape(Random& random, Graph* graph) {
  std::vector<Node*> nodes;
  for (Node* node : graph->placeholders()) {
    const TensorMeta* meta = node->tensor_meta();
    if (meta != nullptr && meta->has_shape && node->annotation() != "torch.SymInt")
      nodes.push_back(node);
  }
  std::shuffle(nodes.begin(), nodes.end(), random);
  return nodes;
}

}  // namespace

std::vector<MutationKind> PortDamage() {
  std::vector<MutationKind> kinds;
  const auto add = [&](MutationKind kind) { kinds.push_back(std::move(kind)); };
  add(OnGraph("input order changed", [](Random& random, Graph* graph, bool) -> std::string {
    const std::vector<Node*> inputs = graph->placeholders();
    if (inputs.size() < 2) return "";
    const size_t i = Below(random, inputs.size() - 1);
    graph->MoveBefore(inputs[i + 1], inputs[i]);
    return absl::StrCat("swapped inputs ", i, " and ", i + 1);
  }));
  add(OnGraph("input dropped", [](Random&, Graph* graph, bool) -> std::string {
    for (Node* input : graph->placeholders()) {
      if (input->has_uses()) continue;
      graph->EraseNode(input);
      return "dropped an input";
    }
    return "";
  }));
  add(OnGraph("input added", [](Random&, Graph* graph, bool) -> std::string {
    const InsertionGuard guard(graph, graph->placeholders().empty()
                                          ? graph->first()
                                          : graph->placeholders().back()->next());
    Node* input = graph->Placeholder("surplus_input");
    TensorMeta meta;
    meta.dtype = DType::kFloat32;
    input->set_meta(graph->module()->InternValueMeta(meta));
    return "added an input";
  }));
  add(OnGraph("output order changed", [](Random&, Graph* graph, bool) -> std::string {
    std::vector<Argument> values = Returned(*graph);
    if (values.size() < 2) return "";
    std::swap(values[0], values.back());
    return SetReturned(graph, values, "swapped outputs");
  }));
  add(OnGraph("output dropped", [](Random& random, Graph* graph, bool) -> std::string {
    std::vector<Argument> values = Returned(*graph);
    if (values.size() < 2) return "";
    Erase(&values, Below(random, values.size()));
    return SetReturned(graph, values, "dropped an output");
  }));
  add(OnGraph("output doubled", [](Random& random, Graph* graph, bool) -> std::string {
    std::vector<Argument> values = Returned(*graph);
    if (values.empty()) return "";
    values.push_back(Any(random, values));
    return SetReturned(graph, values, "doubled an output");
  }));
  add(OnGraph("output replaced", [](Random& random, Graph* graph, bool) -> std::string {
    std::vector<Argument> values = Returned(*graph);
    std::vector<Node*> nodes;
    for (Node* node : graph->nodes()) {
      if (!node->is_output()) nodes.push_back(node);
    }
    if (values.empty() || nodes.empty()) return "";
    values[Below(random, values.size())] = Any(random, nodes);
    return SetReturned(graph, values, "replaced an output");
  }));
  add(OnGraph("port renamed", [](Random& random, Graph* graph, bool) -> std::string {
    const std::vector<Node*> inputs = graph->placeholders();
    if (inputs.empty()) return "";
    Node* input = Any(random, inputs);
    input->set_name("a_renamed_port");
    input->set_target("a_renamed_port");
    return "renamed an input";
  }));
  add(OnGraph("port's shape changed", [](Random& random, Graph* graph, bool) -> std::string {
    for (Node* input : PortsWithShape(random, graph)) {
      TensorMeta meta = *input->tensor_meta();
      std::vector<Dim> shape(meta.shape.begin(), meta.shape.end());
      shape.push_back(Dim(1));
      meta.shape = shape;
      DrawSpec spec = input->draw_spec() != nullptr ? *input->draw_spec() : DrawSpec();
      if (!spec.data.is_none()) continue;
      input->set_meta(graph->module()->InternValueMeta(meta));
      return absl::StrCat("changed the shape of ", input->name());
    }
    return "";
  }));
  add(OnGraph("port's dtype changed", [](Random& random, Graph* graph, bool) -> std::string {
    for (Node* input : PortsWithShape(random, graph)) {
      TensorMeta meta = *input->tensor_meta();
      meta.dtype = meta.dtype == DType::kFloat32 ? DType::kFloat16 : DType::kFloat32;
      input->set_meta(graph->module()->InternValueMeta(meta));
      return absl::StrCat("changed the dtype of ", input->name());
    }
    return "";
  }));
  add(OnGraph("port's device changed", [](Random& random, Graph* graph, bool) -> std::string {
    for (Node* input : PortsWithShape(random, graph)) {
      TensorMeta meta = *input->tensor_meta();
      meta.device = {DeviceType::kMeta, -1};
      input->set_meta(graph->module()->InternValueMeta(meta));
      return absl::StrCat("changed the device of ", input->name());
    }
    return "";
  }));
  add(OnGraph("draw spec changed", [](Random& random, Graph* graph, bool) -> std::string {
    for (Node* input : PortsWithShape(random, graph)) {
      DrawSpec spec = input->draw_spec() != nullptr ? *input->draw_spec() : DrawSpec();
      spec.has_mean = true;
      spec.mean += 0.25;
      input->set_draw_spec(spec);
      return absl::StrCat("changed the mean of ", input->name());
    }
    return "";
  }));
  add(OnGraph("annotation changed", [](Random& random, Graph* graph, bool) -> std::string {
    for (Node* input : PortsWithShape(random, graph)) {
      input->set_annotation(input->annotation() == "torch.Tensor" ? "torch.nn.parameter.Parameter"
                                                                  : "torch.Tensor");
      return absl::StrCat("changed the annotation of ", input->name());
    }
    return "";
  }));
  add(OnGraph("symbol's example changed", [](Random&, Graph* graph, bool) -> std::string {
    Module* module = graph->module();
    if (module->symbols().empty()) return "";
    const Symbol symbol = module->symbols()[0];
    module->AddSymbol(symbol.name, symbol.example.value_or(0) + 1);
    return "changed the example of a symbol";
  }));
  return kinds;
}

}  // namespace graphnet

#include "graphnet/ir/statistics.h"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/module.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

using Counts = std::map<std::string, size_t>;

TensorMeta Meta(DType dtype, const std::vector<Dim>& shape) {
  TensorMeta meta;
  meta.dtype = dtype;
  meta.has_shape = true;
  meta.shape = shape;
  return meta;
}

Node* AddParameter(Graph* graph, absl::string_view name, DType dtype,
                   const std::vector<Dim>& shape) {
  Node* node = graph->Placeholder(name);
  node->set_meta(graph->module()->InternValueMeta(Meta(dtype, shape)));
  node->set_annotation("torch.nn.parameter.Parameter");
  return node;
}

TEST(Statistics, EmptyModule) {
  Module module;
  const ModuleStatistics s = ComputeStatistics(module);
  EXPECT_EQ(s.placeholders, 0u);
  EXPECT_EQ(s.nodes, 0u);
  EXPECT_TRUE(s.counts.empty());
  EXPECT_EQ(s.bytes_per_node(), 0);
}

TEST(Statistics, CountsOperatorsByOpAndTarget) {
  Module module;
  Graph* g = module.AddGraph("forward");
  Node* x = g->Placeholder("x");
  Attribute bias;
  bias.name = "fc.bias";
  module.AddAttribute(bias);
  bias.name = "fc.weight";
  module.AddAttribute(bias);
  Node* weight = g->GetAttr("fc.weight");
  Node* b = g->GetAttr("fc.bias");
  Node* y = g->CallFunction("torch.conv2d", {x, weight, b});
  y = g->CallFunction("torch.conv2d", {y, weight, b});
  y = g->CallMethod("view", {y, -1});
  // A method and a function with the same target are two entries.
  y = g->CallFunction("view", {y});
  y = g->CallModule("layer1", {y});
  g->Output(Argument::Tuple({y, x, y}));

  const ModuleStatistics s = ComputeStatistics(module);
  EXPECT_EQ(s.placeholders, 1u);
  EXPECT_EQ(s.outputs, 3u);
  EXPECT_EQ(s.nodes, 7u);
  EXPECT_EQ(s.counts, (Counts{{"call_function torch.conv2d", 2},
                              {"call_function view", 1},
                              {"call_method view", 1},
                              {"call_module layer1", 1},
                              {"get_attr", 2}}));
  EXPECT_EQ(s.all_nodes, 9u);
  EXPECT_EQ(s.bytes, module.MemoryBytes());
  EXPECT_DOUBLE_EQ(s.bytes_per_node(), static_cast<double>(s.bytes) / 9);
}

// Bodies count once, however often they are called. Their placeholders and outputs do not count.
TEST(Statistics, EntersBodies) {
  Module module;
  Graph* g = module.AddGraph("forward");
  Graph* body = module.AddGraph("body");
  Node* a = body->Placeholder("a");
  body->Output(Argument::Tuple({body->CallFunction("torch.relu", {a}), a}));
  Node* x = g->Placeholder("x");
  Node* y = g->CallFunction("torch.cond", {x, body, body, Argument::Tuple({x})});
  g->Output(g->CallFunction("torch.relu", {y}));

  const ModuleStatistics s = ComputeStatistics(module);
  EXPECT_EQ(s.placeholders, 1u);
  EXPECT_EQ(s.outputs, 1u);
  EXPECT_EQ(s.nodes, 3u);
  EXPECT_EQ(s.counts, (Counts{{"call_function torch.cond", 1}, {"call_function torch.relu", 2}}));
}

TEST(Statistics, OutputsAreTheReturnedValues) {
  const auto outputs = [](auto&& value) {
    Module module;
    Graph* g = module.AddGraph("forward");
    Node* x = g->Placeholder("x");
    value(g, x);
    return ComputeStatistics(module).outputs;
  };
  EXPECT_EQ(outputs([](Graph* g, Node* x) { g->Output(x); }), 1u);
  EXPECT_EQ(outputs([](Graph* g, Node*) { g->Output(Argument()); }), 0u);
  EXPECT_EQ(outputs([](Graph* g, Node*) { g->Output(Argument::Tuple({})); }), 0u);
  EXPECT_EQ(outputs([](Graph* g, Node* x) { g->Output(Argument::List({x, x})); }), 2u);
  EXPECT_EQ(outputs([](Graph* g, Node* x) {
              g->Output(Argument::Dict({"a", x, "b", x, "c", x}));
            }),
            3u);
}

TEST(Statistics, SizesOfParameters) {
  Module module;
  module.AddSymbol("S0", 3);
  module.AddSymbol("S1", std::nullopt);
  Graph* g = module.AddGraph("forward");
  g->Placeholder("x");
  AddParameter(g, "matrix", DType::kFloat32, {4, 8});
  AddParameter(g, "scalar", DType::kFloat16, {});
  AddParameter(g, "empty", DType::kFloat32, {0, 5});
  AddParameter(g, "symbolic", DType::kInt8, {module.SymSymbol("S0"), 2});
  // This parameter counts, but its size is unknown.
  AddParameter(g, "unknown", DType::kFloat32, {module.SymSymbol("S1")});
  g->Placeholder("no_meta")->set_annotation("torch.nn.parameter.Parameter");
  const TensorMeta* meta = module.InternMeta(Meta(DType::kFloat64, {10}));
  Attribute weight;
  weight.name = "weight";
  weight.meta = meta;
  weight.annotation = "torch.nn.parameter.Parameter";
  module.AddAttribute(weight);
  Attribute buffer;
  buffer.name = "buffer";
  buffer.meta = meta;
  module.AddAttribute(buffer);
  g->Output(Argument());

  const ModuleStatistics s = ComputeStatistics(module);
  EXPECT_EQ(s.placeholders, 7u);
  EXPECT_EQ(s.symbols, 2u);
  EXPECT_EQ(s.parameters, 7u);
  EXPECT_EQ(s.parameter_elements, 4 * 8 + 1 + 3 * 2 + 10);
  EXPECT_EQ(s.parameter_bytes, 4 * 8 * 4 + 2 + 6 + 80);
}

TEST(Statistics, SizesSaturate) {
  Module module;
  Graph* g = module.AddGraph("forward");
  AddParameter(g, "a", DType::kFloat64, {int64_t{1} << 62});
  AddParameter(g, "b", DType::kFloat64, {int64_t{1} << 62});
  AddParameter(g, "too_large_to_count", DType::kFloat64, {int64_t{1} << 62, 4});
  g->Output(Argument());
  const ModuleStatistics s = ComputeStatistics(module);
  EXPECT_EQ(s.parameter_elements, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(s.parameter_bytes, std::numeric_limits<int64_t>::max());
}

TEST(Statistics, Totals) {
  Module module;
  Graph* g = module.AddGraph("forward");
  Node* w = AddParameter(g, "w", DType::kFloat32, {2});
  g->Output(g->CallFunction("torch.relu", {w}));
  const ModuleStatistics one = ComputeStatistics(module);
  ModuleStatistics two = one;
  two += one;
  EXPECT_EQ(two.placeholders, 2u);
  EXPECT_EQ(two.outputs, 2u);
  EXPECT_EQ(two.nodes, 2u);
  EXPECT_EQ(two.counts, (Counts{{"call_function torch.relu", 2}}));
  EXPECT_EQ(two.parameters, 2u);
  EXPECT_EQ(two.parameter_bytes, 16);
  EXPECT_DOUBLE_EQ(two.bytes_per_node(), one.bytes_per_node());
}

}  // namespace
}  // namespace graphnet

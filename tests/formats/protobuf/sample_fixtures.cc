#include "tests/formats/protobuf/sample_fixtures.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/ir/unchecked_builder.h"

namespace graphnet {
namespace {

TensorMeta Tensor(DType dtype, absl::Span<const Dim> shape, Device device = {}) {
  TensorMeta meta;
  meta.dtype = dtype;
  meta.has_device = true;
  meta.device = device;
  meta.has_shape = true;
  meta.shape = shape;
  return meta;
}

// Adds nodes whose arguments are of every kind.
void AddEveryArgument(Module* module, Graph* graph, Graph* body, Node* x, Node* y) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  graph->CallFunction("constants", {Argument::None(), true, false, Argument::Ellipsis()});
  graph->CallFunction("integers",
                      {0, 1, -1, 31, 32, -32, -33, INT64_MAX, INT64_MIN, (int64_t{1} << 62) - 1,
                       int64_t{1} << 62, -(int64_t{1} << 62), -(int64_t{1} << 62) - 1});
  graph->CallFunction("floats", {0.0, -0.0, 0.1, -2.5, 1e-05, 1e22, 1e300, 5e-324, inf, -inf, nan,
                                 -nan, 0.08838834764831845, 123456789012.0, 9007199254740993.0});
  const std::complex<double> value(1.5, -0.0);
  graph->CallFunction("complex", {&value});
  const std::string zero("a\0b", 3);
  graph->CallFunction("strings", {"", "text", absl::string_view(zero), "\xff\xfe", "é"});
  std::vector<Argument> types;
  for (int i = 0; i < kNumDTypes; ++i) types.push_back(static_cast<DType>(i));
  for (int i = 0; i < kNumLayouts; ++i) types.push_back(static_cast<Layout>(i));
  for (int i = 0; i < kNumMemoryFormats; ++i) types.push_back(static_cast<MemoryFormat>(i));
  for (int i = 0; i < kNumDeviceTypes; ++i) {
    types.push_back(Device{static_cast<DeviceType>(i), static_cast<int16_t>(i - 1)});
  }
  types.push_back(Device{DeviceType::kCuda, std::numeric_limits<int16_t>::max()});
  types.push_back(Device{DeviceType::kCuda, std::numeric_limits<int16_t>::min()});
  graph->CallFunction("types", types);

  const std::vector<Argument> pair = {1, 2};
  const std::vector<Argument> pairs = {Argument::Tuple(pair), Argument::List(pair)};
  const std::vector<Argument> slice = {Argument::None(), x, -1};
  const std::vector<Argument> index = {Argument::Slice(slice), Argument::Ellipsis()};
  const std::vector<Argument> dict = {"a", x, "b", Argument::List({}), 3, Argument::Tuple(pairs)};
  graph->CallFunction("aggregates", {Argument::List(pairs), Argument::Dict(dict),
                                     Argument::Tuple({}), Argument::Dict({})});
  graph->CallFunction("operator.getitem", {y, Argument::Tuple(index)});
  const std::vector<Argument> nodes = {x, y, x};
  graph->CallFunction("torch.cat", {Argument::List(nodes)}, {{"dim", 1}, {"out", y}});
  graph->CallMethod("view", {x, module->SymSymbol("s0"), -1});
  graph->CallFunction("torch.vmap", {body, Argument::Tuple(nodes)}, {{"in_dims", 0}});
  // This argument is as deep as the limit allows.
  std::vector<std::vector<Argument>> levels(200, std::vector<Argument>(1));
  levels[0][0] = y;
  for (size_t i = 1; i < levels.size(); ++i) levels[i][0] = Argument::List(levels[i - 1]);
  graph->CallFunction("deep", {Argument::List(levels.back())});
}

void AddEveryMeta(Module* module, Graph* graph, Node* x) {
  const SymExpr* s0 = module->SymSymbol("s0");
  const SymExpr* s1 = module->SymSymbol("s1");
  std::vector<Dim> shape;
  for (int kind = static_cast<int>(SymExpr::Kind::kAdd);
       kind <= static_cast<int>(SymExpr::Kind::kMax); ++kind) {
    shape.push_back(module->SymBinary(static_cast<SymExpr::Kind>(kind), s0, s1));
  }
  shape.push_back(module->SymNeg(module->SymNeg(s0)));
  shape.push_back(module->SymInt(INT64_MIN));
  shape.push_back(int64_t{0});
  const ValueMeta* symbolic =
      module->InternValueMeta(Tensor(DType::kFloat16, shape, {DeviceType::kCuda, 0}));
  const ValueMeta* unknown = module->InternValueMeta(TensorMeta());
  const ValueMeta* scalar = module->InternValueMeta(Tensor(DType::kInt64, {}));
  const ValueMeta* inner = module->InternTupleMeta({symbolic, unknown, symbolic});
  const ValueMeta* outer = module->InternTupleMeta({inner, scalar, module->InternTupleMeta({})});
  for (const ValueMeta* meta : {symbolic, unknown, scalar, inner, outer}) {
    graph->CallFunction("meta", {x})->set_meta(meta);
  }
  for (int kind = static_cast<int>(SymExpr::Kind::kEq); kind < kNumSymExprKinds; ++kind) {
    module->AddRelation(module->SymBinary(static_cast<SymExpr::Kind>(kind),
                                          module->SymBinary(SymExpr::Kind::kMul, s0, s1), s1));
  }
}

void AddEveryDrawSpec(Module* module, Graph* graph) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Argument> decimals, doubles, integers, mixed;
  for (int i = 0; i < 10; ++i) {
    decimals.push_back((i - 5) * 123457 / 1e6);
    doubles.push_back(std::sqrt(i + 0.1));
    integers.push_back(i == 0 ? INT64_MIN : int64_t{i} * i);
    mixed.push_back(i % 3 == 0 ? Argument(i % 2 == 0) : i % 3 == 1 ? Argument(i) : Argument(0.5));
  }
  decimals.push_back(-0.0);
  std::vector<DrawSpec> specs(9);
  specs[0].has_mean = specs[0].has_std = true;
  specs[0].mean = -0.125;
  specs[0].std = nan;
  specs[1].has_mean = true;
  specs[1].mean = -0.0;
  specs[1].in_input_meta = true;
  specs[2].has_std = true;
  specs[2].std = 1 / 3.0;
  specs[2].min = 0;
  specs[2].max = 2.5;
  specs[3].original_name = "self.weight";
  specs[3].data = Argument::List(decimals);
  specs[4].data = Argument::List(doubles);
  specs[5].data = Argument::List(integers);
  specs[6].data = Argument::List(mixed);
  specs[7].data = Argument::List({});
  // specs[8] is empty.
  for (size_t i = 0; i < specs.size(); ++i) {
    Node* node = graph->Placeholder(absl::StrCat("L_drawn_", i));
    node->set_draw_spec(specs[i]);
    node->set_annotation(i % 2 == 0 ? "torch.Tensor" : "torch.nn.parameter.Parameter");
  }
  const TensorMeta* meta = module->InternMeta(Tensor(DType::kFloat32, {11}));
  module->AddAttribute({.name = "weight", .meta = meta, .annotation = "", .draw_spec = &specs[3]});
  module->AddAttribute({.name = "bias", .annotation = "torch.Tensor"});
  module->AddAttribute({.name = "a.b.0", .draw_spec = &specs[0]});
}

// Adds placeholders and calls whose names the format encodes in different ways.
void AddNames(Graph* graph, Node* x) {
  for (const char* name :
       {"x_3", "x_4", "x_9", "x_5", "y_0", "y_00", "y_01", "_1", "z_999999999", "z_1000000000",
        "z_", "9", "a_name_that_is_long_and_used_once", "Weird", "\xff", "a b"}) {
    UncheckedBuilder(graph).CreateNode(Op::kCallFunction, "torch.relu", {x}, {}, name);
  }
  graph->CallMethod("relu", {x});
  graph->CallMethod("relu", {x});
  UncheckedBuilder(graph).CreateNode(Op::kCallMethod, "once", {x}, {}, "once");
}

}  // namespace

Sample MakeSmallSample() {
  Sample sample;
  sample.name = "small";
  sample.module = std::make_unique<Module>();
  Graph* graph = sample.module->AddGraph("forward");
  Node* x = graph->Placeholder("L_x_", "l_x_");
  Node* weight = graph->Placeholder("L_self_modules_fc_parameters_weight_",
                                    "l_self_modules_fc_parameters_weight_");
  x->set_meta(sample.module->InternValueMeta(Tensor(DType::kFloat32, {2, 3})));
  DrawSpec spec;
  spec.has_mean = spec.has_std = true;
  spec.mean = 0.227;
  spec.std = 1.285;
  weight->set_draw_spec(spec);
  Node* y = graph->CallFunction("torch.nn.functional.linear", {x, weight, Argument::None()});
  y->set_location({"model.py", 12, 9});
  Node* z = graph->CallMethod("view", {y, -1, 6}, {{"inplace", true}});
  graph->Output(Argument::Tuple({z}));
  return sample;
}

Sample MakeFullSample() {
  Sample sample;
  sample.name = "full/sample";
  sample.module = std::make_unique<Module>();
  Module* module = sample.module.get();
  module->AddSymbol("s0", 4);
  module->AddSymbol("s1", std::nullopt);
  module->AddSymbol("s2", INT64_MIN);
  Graph* graph = module->AddGraph("forward");
  Graph* body = module->AddGraph("body");
  Graph* inner = module->AddGraph("inner_0");
  const auto placeholder = [graph](absl::string_view target, absl::string_view name) {
    return UncheckedBuilder(graph).CreateNode(Op::kPlaceholder, target, {}, {}, name);
  };
  Node* x = placeholder("L_x_", "l_x_");
  Node* y = placeholder("L_self_LayerNorm_", "l_self_layer_norm_");
  placeholder("L_self_LayerNorm_1_", "l_self_layernorm_1_");
  placeholder("L_same_", "L_same_");
  placeholder("L_other_", "another_name");
  AddEveryDrawSpec(module, graph);
  graph->GetAttr("weight");
  graph->GetAttr("a.b.0", "attribute")->set_module_path("a.b");
  AddEveryArgument(module, graph, body, x, y);
  AddEveryMeta(module, graph, x);
  AddNames(graph, x);
  graph->CallModule("layer1.0.conv", {y, x});
  uint32_t line = 1;
  for (Node* node : graph->nodes()) {
    if (line % 5 != 0) node->set_location({line % 3 == 0 ? "b.py" : "a.py", line * line, line});
    if (line % 4 == 0) node->set_module_path(absl::StrCat("layer", line / 8));
    ++line;
  }
  x->set_location({"a.py", UINT32_MAX, UINT16_MAX});
  y->set_location({"", 7, 0});
  graph->Output(Argument::List({x, Argument::Tuple({y, Argument::None()})}));

  Node* p = body->Placeholder("a");
  Node* q = body->CallFunction("torch.cond", {p, inner, inner, Argument::Tuple({p})});
  body->Output(q);
  inner->Output(inner->Placeholder("a"));

  sample.graph_net_json = "{\"framework\": \"torch\",\n \"unknown\": [1.50]}\n";
  sample.graph_hash = "de2068037c68b872";
  sample.has_constraints = true;
  sample.constraint_order = {"L_x_", "L_self_LayerNorm_", "", "L_x_", "not a placeholder"};
  sample.extra_files = {{"notes.txt", std::string("\0\xff", 2)}, {"sub/run_model.py", ""}};
  sample.provenance = {{"parent", "0123", 3, 17}, {"", "", INT64_MIN, INT64_MAX}};
  return sample;
}

Sample MakeRealisticSample(int blocks) {
  Sample sample;
  sample.name = "realistic";
  sample.module = std::make_unique<Module>();
  Module* module = sample.module.get();
  Graph* graph = module->AddGraph("forward");
  const auto place = [](Node* node, uint32_t line) {
    node->set_location({"model.py", line, 9});
    return node;
  };
  uint32_t line = 6;
  Node* x = place(graph->Placeholder("L_x_", "l_x_"), ++line);
  std::vector<Node*> parameters;
  const int64_t width = 64;
  for (int i = 0; i < blocks; ++i) {
    for (const char* leaf :
         {"0_parameters_weight_", "1_buffers_running_mean_", "1_buffers_running_var_",
          "1_parameters_weight_", "1_parameters_bias_"}) {
      const std::string rest = absl::StrCat("_self_modules_features_modules_", i / 4, "_modules_",
                                            i % 4, "_modules_block_modules_", leaf);
      Node* node =
          place(graph->Placeholder(absl::StrCat("L", rest), absl::StrCat("l", rest)), ++line);
      const bool is_convolution = leaf[0] == '0';
      node->set_meta(module->InternValueMeta(
          is_convolution ? Tensor(DType::kFloat32, {width, width, 3, 3}, {DeviceType::kCuda, 0})
                         : Tensor(DType::kFloat32, {width}, {DeviceType::kCuda, 0})));
      DrawSpec spec;
      spec.has_mean = spec.has_std = true;
      spec.mean = std::round(std::sin(line) * 100) / 1000;
      spec.std = std::round(std::cos(line) * 900 + 1000) / 1000;
      std::vector<Argument> data;
      if (leaf[0] == '1' && leaf[2] == 'p' && i % 8 == 0) {
        for (int k = 0; k < width; ++k) data.push_back(std::round(std::sin(k + i) * 1e6) / 1e6);
        spec.data = Argument::List(data);
      }
      node->set_draw_spec(spec);
      node->set_annotation(leaf[2] == 'b' ? "torch.Tensor" : "torch.nn.parameter.Parameter");
      parameters.push_back(node);
    }
  }
  const std::vector<Argument> ones = {1, 1};
  for (int i = 0; i < blocks; ++i) {
    const auto* p = &parameters[static_cast<size_t>(i) * 5];
    Node* shortcut = x;
    x = place(graph->CallFunction("torch.conv2d",
                                  {x, p[0], Argument::None(), Argument::Tuple(ones),
                                   Argument::Tuple(ones), Argument::Tuple(ones), 1},
                                  {}, "input_1"),
              line += 9);
    x = place(graph->CallFunction("torch.nn.functional.batch_norm",
                                  {x, p[1], p[2], p[3], p[4], false, 0.1, 1e-05}, {}, "input_1"),
              line += 12);
    x = place(graph->CallFunction("torch.nn.functional.silu", {x}, {{"inplace", true}}, "input_1"),
              line += 3);
    x = place(graph->CallFunction("operator.iadd", {x, shortcut}, {}, "result"), line += 2);
  }
  graph->Output(Argument::Tuple({x}));
  sample.graph_net_json = "{\"framework\": \"torch\"}";
  sample.graph_hash = std::string(64, 'a');
  return sample;
}

}  // namespace graphnet

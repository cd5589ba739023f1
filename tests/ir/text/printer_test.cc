#include "graphnet/ir/text/printer.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/sample.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

const ValueMeta* Float32(Module& module, const std::vector<Dim>& shape) {
  TensorMeta meta;
  meta.dtype = DType::kFloat32;
  meta.has_device = true;
  meta.has_shape = true;
  meta.shape = shape;
  return module.InternValueMeta(meta);
}

// Makes a sample with some of everything, as an importer would build it.
Sample MakeSample() {
  Sample sample;
  sample.module = std::make_unique<Module>();
  Module& module = *sample.module;
  module.AddSymbol("S0", 2);
  module.AddRelation(
      module.SymBinary(SymExpr::Kind::kLe, module.SymInt(2), module.SymSymbol("S0")));
  Attribute attribute;
  attribute.name = "layers.0.bias";
  attribute.meta = Float32(module, {4})->tensor;
  attribute.annotation = "torch.nn.parameter.Parameter";
  module.AddAttribute(attribute);

  Graph* g = module.AddGraph("forward");
  Graph* body = module.AddGraph("true_body");
  Node* x = g->Placeholder("L_x_", "l_x_");
  x->set_meta(Float32(module, {module.SymSymbol("S0"), 8}));
  DrawSpec draw;
  draw.has_mean = draw.has_std = true;
  draw.std = 0.117;
  x->set_draw_spec(draw);
  Node* w = g->Placeholder("w");
  w->set_meta(Float32(module, {4, 8}));
  w->set_annotation("torch.nn.parameter.Parameter");
  Node* bias = g->GetAttr("layers.0.bias", "bias");
  Node* linear = g->CallFunction("torch.nn.functional.linear", {x, w}, {{"bias", bias}});
  linear->set_meta(Float32(module, {module.SymSymbol("S0"), 4}));
  linear->set_module_path("layers.0");
  linear->set_location({"model.py", 12, 5});
  Node* view = g->CallMethod("view", {linear, -1});
  view->set_module_path("layers.0");
  view->set_location({"model.py", 13, 0});
  Node* cond = g->CallFunction("torch.cond", {true, body, body, Argument::Tuple({view})});
  cond->set_module_path("layers.1");
  cond->set_location({"other.py", 1, 1});
  Node* scaled = g->CallModule("layers.2", {cond}, {{"scale", 2.0}});
  g->Output(Argument::Tuple({cond, scaled}));

  Node* y = body->Placeholder("y");
  body->Output(body->CallFunction("torch.relu", {y}));

  sample.name = "tiny";
  sample.graph_net_json = "{\n  \"framework\": \"torch\"\n}\n";
  sample.graph_hash = "abc";
  sample.has_constraints = true;
  sample.constraint_order = {"L_x_", "w"};
  sample.extra_files["README.md"] = "one line\n";
  sample.provenance.push_back({"big", "def", 3, 8});
  sample.weights["w"] = {};
  return sample;
}

TEST(PrinterTest, Complete) {
  EXPECT_EQ(PrintSample(MakeSample()), R"(graphnet.sample 1
name = "tiny"
graph_hash = "abc"
constraints = True
constraint_order = ["L_x_", "w"]
provenance [3, 8) of "big" hash "def"
graph_net_json =
  "{\n"
  "  \"framework\": \"torch\"\n"
  "}\n"
file "README.md" = "one line\n"
# weights of 1 tensors are kept beside this text

graphnet.module 1

symbol S0 = 2
relation 2 <= S0

attribute layers.0.bias : f32[4]@cpu as torch.nn.parameter.Parameter

graph @forward(
  %l_x_ "L_x_" : f32[S0, 8]@cpu {mean = 0.0, std = 0.117},
  %w : f32[4, 8]@cpu as torch.nn.parameter.Parameter
) {
  %bias = get_attr layers.0.bias
  %linear = torch.nn.functional.linear(%l_x_, %w, bias = %bias) : f32[S0, 4]@cpu in layers.0 at "model.py":12:5
  %view = .view(%linear, -1) in layers.0 at 13
  %cond = torch.cond(True, @true_body, @true_body, (%view,)) in layers.1 at "other.py":1:1
  %layers_2 = call_module layers.2(%cond, scale = 2.0)
  return (%cond, %layers_2)
}

graph @true_body(%y) {
  %relu = torch.relu(%y)
  return %relu
}
end
)");
}

TEST(PrinterTest, Readable) {
  EXPECT_EQ(PrintModule(*MakeSample().module, PrintOptions::Readable()), R"(graphnet.module 1

symbol S0 = 2
relation 2 <= S0

attribute layers.0.bias : f32[4]@cpu as torch.nn.parameter.Parameter

graph @forward(
  %l_x_ "L_x_" : f32[S0, 8]@cpu {mean = 0.0, std = 0.117},
  %w : f32[4, 8]@cpu as torch.nn.parameter.Parameter
) {
  %bias = get_attr layers.0.bias
  # layers.0
  %linear = torch.nn.functional.linear(%l_x_, %w, bias = %bias) : f32[S0, 4]@cpu
  %view = .view(%linear, -1)
  # layers.1
  %cond = torch.cond(True, @true_body, @true_body, (%view,))
  # (no module)
  %layers_2 = call_module layers.2(%cond, scale = 2.0)
  return (%cond, %layers_2)
}

graph @true_body(%y) {
  %relu = torch.relu(%y)
  return %relu
}
end
)");
}

TEST(PrinterTest, ReadableCutsLongConstants) {
  Module module;
  Graph* g = module.AddGraph("forward");
  Node* x = g->Placeholder("x");
  const std::vector<Argument> short_list(32, 7);
  const std::vector<Argument> long_list(33, 7);
  const std::vector<Argument> nodes(33, x);
  const std::string text(201, 'a');
  g->CallFunction("f", {Argument::List(short_list)}, {}, "a");
  g->CallFunction("f", {Argument::List(long_list)}, {}, "b");
  g->CallFunction("f", {Argument::Tuple(nodes)}, {}, "c");
  g->CallFunction("f", {absl::string_view(text)}, {}, "d");
  const std::string printed = PrintModule(module, PrintOptions::Readable());
  EXPECT_NE(printed.find("  %b = f([7, 7, 7, 7, 7, 7, 7, 7, <25 more>])\n"), std::string::npos)
      << printed;
  EXPECT_NE(printed.find("aaa\"<1 more bytes>)\n"), std::string::npos) << printed;
  EXPECT_EQ(printed.find("%c = f((%x, <"), std::string::npos) << printed;
  EXPECT_EQ(printed.find("<24 more>"), std::string::npos) << printed;
}

TEST(PrinterTest, Structure) {
  EXPECT_EQ(PrintSample(MakeSample(), PrintOptions::Structure()), R"(graph @0(%0, %1) {
  %2 = get_attr layers.0.bias
  %3 = torch.nn.functional.linear(%0, %1, bias = %2)
  %4 = .view(%3, -1)
  %5 = torch.cond(True, @1, @1, (%4,))
  %6 = call_module layers.2(%5, scale = 2.0)
  return (%5, %6)
}

graph @1(%0) {
  %1 = torch.relu(%0)
  return %1
}
)");
}

TEST(PrinterTest, ParametersTakeOneLineWhenTheyAreFewAndShort) {
  Module module;
  Graph* g = module.AddGraph("eight");
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) g->Placeholder(name);
  PrintOptions options;
  options.header = false;
  EXPECT_EQ(PrintModule(module, options), "graph @eight(%a, %b, %c, %d, %e, %f, %g, %h) {\n}\n");
  g->Placeholder("i");
  EXPECT_EQ(
      PrintModule(module, options),
      "graph @eight(\n  %a,\n  %b,\n  %c,\n  %d,\n  %e,\n  %f,\n  %g,\n  %h,\n  %i\n) {\n}\n");
}

TEST(PrinterTest, EmptyModuleAndSampleWithoutModule) {
  EXPECT_EQ(PrintModule(Module()), "graphnet.module 1\nend\n");
  EXPECT_EQ(PrintSample(Sample()), "graphnet.sample 1\nend\n");
}

TEST(PrinterTest, OneLineForMessages) {
  const Sample sample = MakeSample();
  const Graph& g = *sample.module->main();
  EXPECT_EQ(PrintNode(*g.FindNode("l_x_")),
            "%l_x_ = placeholder L_x_ : f32[S0, 8]@cpu {mean = 0.0, std = 0.117}");
  EXPECT_EQ(PrintNode(*g.FindNode("linear")),
            "%linear = torch.nn.functional.linear(%l_x_, %w, bias = %bias) : f32[S0, 4]@cpu");
  EXPECT_EQ(PrintNode(*g.output()), "return (%cond, %layers_2)");
  EXPECT_EQ(PrintArgument(g.output()->args()[0]), "(%cond, %layers_2)");
  EXPECT_EQ(PrintMeta(*g.FindNode("w")->meta()), "f32[4, 8]@cpu");
  EXPECT_EQ(PrintTensorMeta(*g.FindNode("w")->tensor_meta()), "f32[4, 8]@cpu");
  EXPECT_EQ(PrintSymExpr(*sample.module->relations()[0]), "2 <= S0");
  std::string out = "so: ";
  AppendNode(*g.output(), &out);
  EXPECT_EQ(out, "so: return (%cond, %layers_2)");
}

TEST(PrinterTest, AppendingLeavesWhatIsThere) {
  std::string out = "# before\n";
  AppendModule(Module(), PrintOptions::Complete(), &out);
  EXPECT_EQ(out, "# before\ngraphnet.module 1\nend\n");
}

// Printing is safe even for a module with other defects.
TEST(PrinterTest, NestingBeyondTheLimitIsCut) {
  Module module;
  const SymExpr* expr = module.SymInt(1);
  for (int i = 0; i < 100000; ++i) {
    expr = module.SymBinary(SymExpr::Kind::kAdd, expr, module.SymInt(1));
  }
  std::string printed = PrintSymExpr(*expr);
  EXPECT_NE(printed.find("<nested too deeply>"), std::string::npos);
  EXPECT_LT(printed.size(), 2000u);

  std::vector<std::vector<Argument>> levels(100000, std::vector<Argument>(1));
  Argument argument = 1;
  for (auto& level : levels) {
    level[0] = argument;
    argument = Argument::List(level);
  }
  printed = PrintArgument(argument);
  EXPECT_NE(printed.find("[[<nested too deeply>]]"), std::string::npos);
}

}  // namespace
}  // namespace graphnet

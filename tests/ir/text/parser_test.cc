#include "graphnet/ir/text/parser.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

TEST(ParserTest, BuildsTheModule) {
  const auto parsed = ParseModule(R"(
    symbol S0 = 2
    attribute w : f32[4, 8]@cpu
    graph @forward(%x "L_x_" : f32[S0, 8]@cuda:1 as T {mean = 0.5, data = [1, 2.0]}) {
      %w = get_attr w
      %y = torch.nn.functional.linear(%x, %w, bias = None) : (f32[S0, 4], _) in layers.0 at "m.py":3:7
      %z = .view(%y, (-1, 4))
      return {"z": %z}
    })",
                                  "test");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const Module& module = **parsed;
  EXPECT_EQ(module.symbols()[0].name, "S0");
  EXPECT_EQ(module.symbols()[0].example, 2);
  EXPECT_EQ(module.attributes()[0].meta->shape[1].value, 8);
  const Graph& g = *module.main();
  EXPECT_EQ(g.num_nodes(), 5u);

  const Node* x = g.first();
  EXPECT_TRUE(x->is_placeholder());
  EXPECT_EQ(x->target(), "L_x_");
  EXPECT_EQ(x->annotation(), "T");
  EXPECT_EQ(x->tensor_meta()->device, (Device{DeviceType::kCuda, 1}));
  EXPECT_EQ(x->tensor_meta()->shape[0].expr->name, "S0");
  EXPECT_EQ(x->draw_spec()->mean, 0.5);
  EXPECT_FALSE(x->draw_spec()->has_std);
  EXPECT_EQ(x->draw_spec()->data.elements()[1].real(), 2.0);

  const Node* y = g.FindNode("y");
  EXPECT_TRUE(y->is_call_function("torch.nn.functional.linear"));
  EXPECT_EQ(y->args()[0].node(), x);
  EXPECT_TRUE(y->kwarg("bias")->is_none());
  EXPECT_TRUE(y->meta()->is_tuple);
  EXPECT_EQ(y->meta()->elements[1]->tensor, nullptr);
  EXPECT_EQ(y->module_path(), "layers.0");
  EXPECT_EQ(y->location().file, "m.py");
  EXPECT_EQ(y->location().line, 3u);
  EXPECT_EQ(y->location().column, 7u);

  EXPECT_TRUE(g.FindNode("z")->is_call_method("view"));
  EXPECT_EQ(g.output(), g.last());
  EXPECT_EQ(g.output()->name(), "output");
}

TEST(ParserTest, NothingViewsTheTextAfterwards) {
  std::string text =
      PrintModule(**ParseModule("symbol S0\nattribute w as T {data = [1], original_name = n}\n"
                                "graph @g(%x \"t\" : f32[S0]) { %y = f(\"a\", k = (\"b\", %x)) in "
                                "p at \"m\":1 return @h }\ngraph @h() {}",
                                "test"));
  const std::string before = text;
  const auto parsed = ParseModule(text, "test");
  ASSERT_TRUE(parsed.ok());
  text.assign(text.size(), '?');
  EXPECT_EQ(PrintModule(**parsed), before);
}

TEST(ParserTest, SampleFromModuleText) {
  for (const absl::string_view text : {"graph @g() {}", "graphnet.module 1 graph @g() {} end"}) {
    const auto sample = ParseSample(text, "test");
    ASSERT_TRUE(sample.ok()) << sample.status();
    EXPECT_EQ(sample->name, "");
    EXPECT_EQ(sample->module->graphs().size(), 1u);
  }
  const auto bare = ParseSample("graphnet.sample 1 name = \"x\" end", "test");
  ASSERT_TRUE(bare.ok());
  EXPECT_EQ(bare->name, "x");
  EXPECT_EQ(bare->module, nullptr);
}

TEST(ParserTest, LooksLikeText) {
  for (const absl::string_view yes : {"graphnet.module 1", "graphnet.sample",
                                      "  # a comment\n\ngraphnet.module\n", "graphnet.module#"}) {
    EXPECT_TRUE(LooksLikeText(yes)) << yes;
  }
  for (const absl::string_view no :
       {"", "graphnet", "graphnet.modules", "PK\x03\x04", "import torch", "graph @g() {}",
        "\"graphnet.module\"", "# graphnet.module 1"}) {
    EXPECT_FALSE(LooksLikeText(no)) << no;
  }
  for (const absl::string_view yes :
       {"graph @g() {}", "# a comment\nsymbol s = 2", "attribute w : f32", "graphnet.module 1"}) {
    EXPECT_TRUE(LooksLikeText(yes, /*fragments=*/true)) << yes;
  }
  for (const absl::string_view no : {"", "graphs", "import torch", "PK\x03\x04"}) {
    EXPECT_FALSE(LooksLikeText(no, /*fragments=*/true)) << no;
  }
}

// Texts of the presets for people and for comparing parse, too, if nothing was cut.
TEST(ParserTest, ReadsEveryPreset) {
  const auto module = ParseModule(
      "graph @forward(%x : f32[2]) { %y = torch.relu(%x) in a at 1 %z = f(%y) return %z }", "test");
  ASSERT_TRUE(module.ok());
  for (const PrintOptions& options :
       {PrintOptions::Complete(), PrintOptions::Readable(), PrintOptions::Structure()}) {
    const auto again = ParseModule(PrintModule(**module, options), "test");
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(PrintModule(**again, PrintOptions::Structure()),
              PrintModule(**module, PrintOptions::Structure()));
    EXPECT_EQ(Verify(**again), absl::OkStatus());
  }
}

TEST(ParserTest, ManyNodes) {
  constexpr int kNodes = 200000;
  std::string text = "graphnet.module 1\n\ngraph @g(%v0) {\n";
  for (int i = 1; i < kNodes; ++i)
    absl::StrAppend(&text, "  %v", i, " = f(%v", i - 1, ", %v", i / 2, ")\n");
  text += "}\nend\n";
  const auto module = ParseModule(text, "test");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->num_nodes(), static_cast<size_t>(kNodes));
  EXPECT_EQ(PrintModule(**module), text);
}

}  // namespace
}  // namespace graphnet

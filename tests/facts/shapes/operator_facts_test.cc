// Operators of a made-up library. One row each is all that the rooms above know about them.
#include "graphnet/facts/shapes/operator_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graphnet/facts/shapes/infer_meta.h"
#include "graphnet/facts/shapes/result_rules.h"
#include "graphnet/interp/declared_operator.h"
#include "graphnet/interp/shapes.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/pipeline.h"
#include "graphnet/shard/propagate.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr absl::string_view kFastSoftmax =
    "mylib::fast_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor";
constexpr absl::string_view kMix = "mylib::mix(Tensor a, Tensor b, float t=0.5) -> Tensor";
constexpr absl::string_view kScale = "mylib::scale_(Tensor(a!) self, Tensor other) -> Tensor(a!)";
// An operator without facts.
constexpr absl::string_view kDark = "mylib::dark(Tensor a, Tensor b, float t=0.5) -> Tensor";

class OperatorFactsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_OK(AddOperatorFacts(absl::StrCat("= softmax ", kFastSoftmax)));
    ASSERT_OK(AddOperatorFacts(absl::StrCat("broadcast common - ", kMix)));
    ASSERT_OK(AddOperatorFacts(absl::StrCat("= mul ", kScale)));
    for (const absl::string_view schema : {kFastSoftmax, kMix, kScale, kDark})
      ASSERT_OK(DeclareOperator({.schema = std::string(schema)}));
  }
};

constexpr absl::string_view kForward = R"(graph @forward(%x : f32[4, 8], %y : f32[8]) {
  %h = torch.ops.mylib.OP.default(%x, %y, 0.25)
  %s = mylib.fast_softmax.default(%h, 1)
  return (%s,)
}
)";
std::string Forward(absl::string_view op) { return absl::StrReplaceAll(kForward, {{"OP", op}}); }

// Returns the body of the module after the passes, or their error.
std::string AfterPasses(absl::string_view text, absl::string_view pipeline) {
  auto module = ParseModule(text, "test");
  if (!module.ok()) return std::string(module.status().message());
  const auto steps = RunPipeline(*ParsePipeline(pipeline), module->get(), {.verify_each = true});
  return steps.ok() ? PrintModule(**module) : std::string(steps.status().message());
}

TEST_F(OperatorFactsTest, ShapesFollowFromTheRows) {
  auto module = ParseModule(Forward("mix"), "test");
  ASSERT_OK(module);
  ASSERT_OK(InferShapes(module->get(), {}));
  const std::string text = PrintModule(**module);
  EXPECT_THAT(text, HasSubstr("%h = torch.ops.mylib.mix.default(%x, %y, 0.25) : f32[4, 8]"));
  EXPECT_THAT(text, HasSubstr("%s = mylib.fast_softmax.default(%h, 1) : f32[4, 8]"));

  auto dark = ParseModule(Forward("dark"), "test");
  ASSERT_OK(dark);
  EXPECT_THAT(InferShapes(dark->get(), {}).status().message(),
              HasSubstr("mylib::dark is declared without a body"));
}

TEST_F(OperatorFactsTest, ShapesOfLargeTensorsToo) {
  auto module = ParseModule(
      "graph @forward(%x : bf16[1000, 4096], %y : f32[]) {\n"
      "  %h = mylib.mix(%x, %y)\n  return (%h,)\n}\n",
      "test");
  ASSERT_OK(module);
  ASSERT_OK(InferShapes(module->get(), {}));
  EXPECT_THAT(PrintModule(**module), HasSubstr("%h = mylib.mix(%x, %y) : bf16[1000, 4096]"));
}

TEST_F(OperatorFactsTest, FunctionalizeKnowsWhatTheyWriteTo) {
  constexpr absl::string_view kText =
      "graph @forward(%x : f32[4, 8], %y : f32[8]) {\n"
      "  %s = mylib.OP.default(%x, %y)\n"
      "  %v = aten.select.int(%s, 0, 1)\n"
      "  %w = mylib.scale_.default(%v, %y)\n"
      "  return (%s,)\n}\n";
  const std::string text =
      AfterPasses(absl::StrReplaceAll(kText, {{"OP", "mix"}}), "functionalize");
  EXPECT_THAT(text, HasSubstr("aten.mul.Tensor("));
  EXPECT_THAT(text, HasSubstr("aten.select_scatter.default(%s, "));
  EXPECT_THAT(text, Not(HasSubstr("scale_")));
  EXPECT_THAT(AfterPasses(absl::StrReplaceAll(kText, {{"OP", "dark"}}), "functionalize"),
              HasSubstr("mylib.scale_"));
}

TEST_F(OperatorFactsTest, ExpandVmapBatchesThem) {
  constexpr absl::string_view kText =
      "graph @forward(%x : f32[3, 4, 8], %y : f32[8]) {\n"
      "  %r = torch.vmap(@f, (%x, %y), (0, None), 0, \"error\", None)\n"
      "  %o = operator.getitem(%r, 0)\n  return (%o,)\n}\n"
      "graph @f(%x : f32[4, 8], %y : f32[8]) {\n"
      "  %h = mylib.OP.default(%x, %y, 0.25)\n"
      "  %s = mylib.fast_softmax.default(%h, 1)\n  return (%s,)\n}\n";
  const std::string text = AfterPasses(absl::StrReplaceAll(kText, {{"OP", "mix"}}), "expand-vmap");
  EXPECT_THAT(text, HasSubstr("mylib.mix.default(%x, %y, 0.25)"));
  EXPECT_THAT(text, HasSubstr("mylib.fast_softmax.default(%h, 2)"));
  EXPECT_THAT(text, Not(HasSubstr("torch.vmap")));
  EXPECT_THAT(AfterPasses(absl::StrReplaceAll(kText, {{"OP", "dark"}}), "expand-vmap"),
              HasSubstr("torch.vmap"));
}

TEST_F(OperatorFactsTest, ChangeDTypeTellsThemTheDType) {
  constexpr absl::string_view kText =
      "graph @forward(%x : f32[4, 8]) {\n"
      "  %f = mylib.OP.default([4, 8])\n"
      "  %s = mylib.fast_softmax.default(%x, 1)\n"
      "  %o = torch.add(%f, %s)\n  return (%o,)\n}\n";
  constexpr absl::string_view kParameters = "(int[] size, *, ScalarType? dtype=None) -> Tensor";
  ASSERT_OK(AddOperatorFacts(absl::StrCat("listed f32 - mylib::noise", kParameters)));
  ASSERT_OK(DeclareOperator({.schema = absl::StrCat("mylib::dark_noise", kParameters)}));
  const auto changed = [&](absl::string_view op) {
    return AfterPasses(absl::StrReplaceAll(kText, {{"OP", op}}), "change-dtype{to=f64}");
  };
  EXPECT_THAT(changed("noise"),
              HasSubstr("%f = mylib.noise.default([4, 8], dtype = torch.float64)\n"));
  EXPECT_THAT(changed("dark_noise"), HasSubstr("%f = mylib.dark_noise.default([4, 8])\n"));
}

TEST_F(OperatorFactsTest, ShardDividesThem) {
  const auto shard = [](absl::string_view op) {
    const auto module = ParseModule(Forward(op), "test");
    EXPECT_OK(module);
    auto sharded = spmd::PropagateShardings(**module, *spmd::ParseMesh("2"),
                                            {{"x", *spmd::ParseSharding("0,-1")}});
    EXPECT_OK(sharded);
    return std::move(*sharded);
  };
  const spmd::ShardedGraph known = shard("mix");
  EXPECT_EQ(known.reshards, 0);
  EXPECT_TRUE(known.replicated.empty());
  EXPECT_THAT(PrintModule(*known.module, PrintOptions::Complete()),
              HasSubstr("%s = mylib.fast_softmax.default(%h, 1) : f32[4, 8] as \"2[0, -1]\""));
  EXPECT_EQ(shard("dark").replicated.count("mylib.dark.default"), 1);
}

TEST_F(OperatorFactsTest, RefusesRowsThatCannotBeRead) {
  const auto message = [](absl::string_view row) {
    return std::string(AddOperatorFacts(row).message());
  };
  EXPECT_THAT(message("same first -"), HasSubstr("expected facts and a schema"));
  EXPECT_THAT(message("mylib::f(Tensor x) -> Tensor"), HasSubstr("expected facts and a schema"));
  EXPECT_THAT(message("same mylib::f(Tensor x) -> Tensor"), HasSubstr("expected three words"));
  EXPECT_THAT(message("alike first - mylib::f(Tensor x) -> Tensor"),
              HasSubstr("mylib::f: \"alike\" is not a word for sizes; known: - adaptive"));
  EXPECT_THAT(message("same first linear mylib::f(Tensor x) -> Tensor"),
              HasSubstr("\"linear\" is not a word for batching; known: - dims like trailing"));
  EXPECT_THAT(message("same:x first - mylib::f(Tensor x) -> Tensor"), HasSubstr("same:x"));
  EXPECT_THAT(message("= softmux mylib::f(Tensor x) -> Tensor"),
              HasSubstr("\"softmux\" is not an operator of ATen"));
  EXPECT_THAT(message("= softmax mylib::f(Tensor x, int dim) -> Tensor"),
              HasSubstr("no overload of softmax has the same parameters"));
  EXPECT_THAT(message("= relu aten::f(Tensor x) -> Tensor"), HasSubstr("own namespace"));
  EXPECT_THAT(message("= relu f(Tensor x) -> Tensor"), HasSubstr("needs a namespace"));
  EXPECT_THAT(message("= relu mylib::f(Tensor self"), HasSubstr("mylib::f: "));
  EXPECT_THAT(message(absl::StrCat("= softmax ", kFastSoftmax)), HasSubstr("known already"));
}

// Facts that do not fit the schema or the call make the result unknown, or are an error.
TEST_F(OperatorFactsTest, FactsThatDoNotFitDoNoHarm) {
  std::set<std::string> facts;
  for (const absl::string_view name : OperatorsWithRules()) {
    const ResultRule& rule = ResultRuleOf(name);
    facts.insert(absl::StrCat(rule.sizes, " - -"));
    facts.insert(absl::StrCat("- ", rule.type, " -"));
  }
  for (const absl::string_view batching : {"dims", "like", "trailing"}) {
    facts.insert(absl::StrCat("- - ", batching));
    facts.insert(absl::StrCat("same first ", batching));
  }
  const std::pair<std::string, std::string> schemas[] = {
      {"(Tensor x) -> Tensor", "%x"},
      {"(Tensor x, int[] dim, Tensor? index=None) -> Tensor", "%x, [0, 9, -5]"},
      {"(Tensor[] tensors, int dim=0) -> Tensor[]", "[%x, %y], 7"},
      {"(Tensor a, Tensor b) -> (Tensor, Tensor)", "%x, %y"},
      {"(Tensor(a!) self, Scalar other, *, ScalarType? dtype=None) -> Tensor(a!)", "%x, 2"},
      {"(int n) -> Tensor", "3"},
      {"() -> Tensor", ""}};
  int count = 0;
  for (const std::string& row : facts) {
    std::string body;
    for (const auto& [schema, args] : schemas) {
      const std::string name = absl::StrCat("f", count++);
      ASSERT_OK(AddOperatorFacts(absl::StrCat(row, " odd::", name, schema)));
      absl::StrAppend(&body, "  %", name, " = odd.", name, ".default(", args, ")\n");
    }
    SCOPED_TRACE(row);
    const std::string graph = absl::StrCat("(%x : f32[2, 3], %y : f32[3]) {\n", body,
                                           "  return (%f", count - 1, ",)\n}\n");
    for (const absl::string_view pipeline : {"functionalize", "change-dtype{to=bf16}",
                                             "generalize-dims{inputs=x}", "canonical-names"}) {
      AfterPasses(absl::StrCat("graph @forward", graph), pipeline);
    }
    AfterPasses(absl::StrCat("graph @forward(%x : f32[4, 2, 3], %y : f32[3]) {\n"
                             "  %r = torch.vmap(@f, (%x, %y), (0, None), 0, \"error\", None)\n"
                             "  return (%r,)\n}\ngraph @f",
                             graph),
                "expand-vmap");
    const auto module = ParseModule(absl::StrCat("graph @forward", graph), "test");
    ASSERT_OK(module);
    for (const Node* node : (*module)->main()->nodes()) InferMeta(const_cast<Node*>(node));
    (void)spmd::PropagateShardings(**module, *spmd::ParseMesh("2"),
                                   {{"x", *spmd::ParseSharding("0,-1")}});
    EXPECT_OK(Verify(**module));
  }
  EXPECT_GT(count, 300);
}

}  // namespace
}  // namespace graphnet

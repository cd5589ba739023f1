#include "graphnet/passes/expand_vmap.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/batching_rules.h"
#include "graphnet/text/parser.h"
#include "graphnet/text/printer.h"

namespace graphnet {
namespace {

std::unique_ptr<Module> Parse(absl::string_view text) {
  auto module = ParseModule(std::string(text), "test");
  EXPECT_TRUE(module.ok()) << module.status() << "\n" << text;
  return module.ok() ? *std::move(module) : nullptr;
}

void ExpectExpanded(absl::string_view text, absl::string_view expected) {
  const auto module = Parse(text);
  PassRun run;
  const auto changed = ExpandVmap(module.get(), run);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(*changed) << (run.notes().empty() ? "" : run.notes()[0].what);
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  EXPECT_EQ(PrintModule(*module), PrintModule(*Parse(expected)));
  EXPECT_FALSE(*ExpandVmap(module.get(), run));
}

// `body`: the statements between the parameters (%a, %b) and the return of %r.
void ExpectLeft(absl::string_view body, absl::string_view why,
                absl::string_view randomness = "error") {
  const auto module = Parse(absl::StrCat(
      "graph @f(%x : f32[2,3], %y) {\n  %q = torch.vmap(@b, (%x, %y), in_dims = (0, None), "
      "randomness = \"",
      randomness, "\")\n  return (%q,)\n}\ngraph @b(%a, %b) {\n", body, "  return %r\n}\n"));
  const std::string before = PrintModule(*module);
  PassRun run;
  const auto changed = ExpandVmap(module.get(), run);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_FALSE(*changed);
  EXPECT_EQ(PrintModule(*module), before);
  ASSERT_EQ(run.notes().size(), 1u);
  EXPECT_TRUE(absl::StrContains(run.notes()[0].what, why)) << run.notes()[0].what;
}

TEST(ExpandVmapTest, DimensionsCountTheLevels) {
  ExpectExpanded(R"(
graph @f(%x : f32[2,3,4]) {
  %q = torch.vmap(@b, (%x,), in_dims = (1,), out_dims = 2)
  return (%q,)
}
graph @b(%a) {
  %s = .softmax(%a, -1)
  %t = .transpose(%s, 0, 1)
  %r = .unsqueeze(%t, -1)
  %m = .sum(%r, 1)
  return %m
}
)",
                 R"(
graph @f(%x : f32[2,3,4]) {
  %a = aten.movedim.int(%x, 1, 0)
  %s = aten.softmax.int(%a, 2)
  %t = aten.transpose.int(%s, 1, 2)
  %r = aten.unsqueeze.default(%t, 3)
  %m = aten.sum.dim_IntList(%r, [2])
  %q = aten.movedim.int(%m, 0, 2)
  return (%q,)
}
)");
}

// Under vmap a tensor without dimensions does not make int64 of int32.
TEST(ExpandVmapTest, TensorsWithoutDimensionsDoNotPromote) {
  ExpectExpanded(R"(
graph @f(%x : i64[2], %y : i32[3]) {
  %q = torch.vmap(@b, (%x, %y), in_dims = (0, None))
  return (%q,)
}
graph @b(%a, %b) {
  %s = torch.add(%a, %b)
  return %s
}
)",
                 R"(
graph @f(%x : i64[2], %y : i32[3]) {
  %s = operator.getitem(%x, (0,))
  %s_1 = torch.result_type(%s, %y)
  %s_2 = .to(%x, %s_1)
  %s_3 = aten.unsqueeze.default(%s_2, 1)
  %q = aten.add.Tensor(%s_3, %y)
  return (%q,)
}
)");
}

TEST(ExpandVmapTest, WhatHasNoRuleStays) {
  ExpectLeft("  %r = torch.histc(%a)\n", "no batching rule for aten.histc");
  ExpectLeft("  %r = torch.rand_like(%a)\n", "random numbers", "different");
  ExpectLeft("  %r = torch.add(%a, %b)\n", "is not known");
  ExpectLeft("  %r = .add_(%b, %a)\n", "is not known");
}

// The rest of a call that stays is tried by itself.
TEST(ExpandVmapTest, InnerCallsOfOnesThatStay) {
  ExpectExpanded(R"(
graph @f(%x : f32[2,3]) {
  %q = torch.vmap(@b, (%x,))
  return (%q,)
}
graph @b(%a) {
  %r = torch.vmap(@c, (%a,))
  %h = torch.histc(%r)
  return %h
}
graph @c(%a) {
  %s = torch.sin(%a)
  return %s
}
)",
                 R"(
graph @f(%x : f32[2,3]) {
  %q = torch.vmap(@b, (%x,))
  return (%q,)
}
graph @b(%a) {
  %r = aten.sin.default(%a)
  %h = torch.histc(%r)
  return %h
}
)");
}

TEST(BatchingRulesTest, AreNotFew) {
  const auto pointwise = OperatorsWithBatchingRule(BatchingRule::kPointwise);
  EXPECT_GT(pointwise.size(), 200u);
  EXPECT_TRUE(absl::c_linear_search(pointwise, "le"));
  EXPECT_FALSE(absl::c_linear_search(pointwise, "equal"));
  EXPECT_TRUE(absl::c_linear_search(OperatorsWithBatchingRule(BatchingRule::kDims), "cumsum"));
  EXPECT_TRUE(absl::c_linear_search(OperatorsWithBatchingRule(BatchingRule::kWhole), "sum"));
}

}  // namespace
}  // namespace graphnet

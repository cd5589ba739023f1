#include "graphnet/passes/vmap/expand_vmap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/vmap/batching_rules.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet {
namespace {

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

// `body` holds the statements between the parameters (%a, %b) and the return of %r.
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

// kthvalue takes the last dimension and linalg_matrix_norm the last two; later calls count the
// remaining ones.
TEST(ExpandVmapTest, ReductionsAlongTheDimensionsOfTheSchema) {
  ExpectExpanded(R"(
graph @f(%x : f32[2,3,4]) {
  %q = torch.vmap(@b, (%x,))
  return (%q,)
}
graph @b(%a) {
  %k = torch.kthvalue(%a, 1)
  %v = operator.getitem(%k, 0)
  %r = .unsqueeze(%v, -1)
  return %r
}
)",
                 R"(
graph @f(%x : f32[2,3,4]) {
  %k = aten.kthvalue.default(%x, 1, dim = 2)
  %v = operator.getitem(%k, 0)
  %q = aten.unsqueeze.default(%v, 2)
  return (%q,)
}
)");
}

// Calls that lowering refuses may have any form.
TEST(ExpandVmapTest, CallsThatAreWrong) {
  const auto expand = [](absl::string_view call) {
    const auto module = Parse(
        absl::StrCat("graph @f(%x : f32[2,3]) {\n  %q = torch.vmap(@a, (%x,))\n  return (%q,)\n}\n"
                     "graph @a(%x) {\n  %r = ",
                     call, "\n  return %r\n}\n",
                     absl::StrContains(call, "@b") ? "graph @b(%x) {\n  return %x\n}\n" : ""));
    PassRun run;
    return ExpandVmap(module.get(), run);
  };
  EXPECT_THAT(std::string(expand("torch.vmap(@b, (%x,), out_d_ms = 0)").status().message()),
              ::testing::HasSubstr("takes no out_d_ms; did you mean out_dims?"));
  const auto changed = expand("torch.tensor()");
  EXPECT_TRUE(changed.ok() && !*changed) << changed.status();
}

// An empty list or tuple of dimensions means all of them, as in PyTorch.
TEST(ExpandVmapTest, ReductionsAlongNoDimensionAreOfAll) {
  ExpectExpanded(R"(
graph @f(%x : f32[2,3,4]) {
  %q = torch.vmap(@b, (%x,))
  return (%q,)
}
graph @b(%a) {
  %m = aten.amin.default(%a, ())
  %r = .unsqueeze(%m, -1)
  return %r
}
)",
                 R"(
graph @f(%x : f32[2,3,4]) {
  %m = aten.amin.default(%x, [1, 2])
  %q = aten.unsqueeze.default(%m, 1)
  return (%q,)
}
)");
}

// Under vmap a tensor without dimensions does not promote int32 to int64.
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
  ExpectLeft("  %r = torch.rand(3)\n", "randomness \"error\"");
  ExpectLeft("  %r = torch.randperm(3)\n", "randomness \"different\"", "different");
  ExpectLeft(
      "  %c = torch.zeros(3)\n  %s = operator.setitem(%c, slice(None, None, None), %a)\n"
      "  %r = torch.neg(%c)\n",
      "written to");
  ExpectLeft("  %m = torch.gt(%a, 0)\n  %s = operator.setitem(%a, %m, 0.5)\n  %r = torch.neg(%a)\n",
             "of bool");
  ExpectLeft("  %r = torch.add(%a, %b)\n", "is not known");
  ExpectLeft("  %r = .add_(%b, %a)\n", "is not known");
}

// Draws follow PyTorch's order: one draw for all elements, or one that all share.
TEST(ExpandVmapTest, RandomNumbers) {
  ExpectExpanded(R"(
graph @f(%x : f16[2,3]) {
  %q = torch.vmap(@b, (%x,), randomness = "same")
  return (%q,)
}
graph @b(%a) {
  %d = torch.vmap(@c, (%a,), randomness = "different")
  return %d
}
graph @c(%a) {
  %u = torch.rand(4)
  %s = torch.mul(%u, %a)
  return %s
}
)",
                 R"(
graph @f(%x : f16[2,3]) {
  %size = .size(%x, 1)
  %u = aten.rand.default([1, %size, 4])
  %s = operator.getitem(%x, (0, 0))
  %s_1 = torch.result_type(%s, %u)
  %s_2 = .to(%x, %s_1)
  %s_3 = aten.unsqueeze.default(%s_2, 2)
  %q = aten.mul.Tensor(%u, %s_3)
  return (%q,)
}
)");
}

TEST(ExpandVmapTest, EquationsAndConvolutionsTakeTheLevels) {
  ExpectExpanded(R"(
graph @f(%x : f32[2,3,8], %w : f32[5,3,3], %v : f32[2,5,3,3]) {
  %q = torch.vmap(@b, (%x, %w, %v), in_dims = (0, None, 0))
  return (%q,)
}
graph @b(%x, %w, %v) {
  %c = torch.conv1d(%x, %w)
  %d = torch.conv1d(%x, %v)
  %e = torch.einsum("ij, kj", %c, %d)
  return %e
}
)",
                 R"(
graph @f(%x : f32[2,3,8], %w : f32[5,3,3], %v : f32[2,5,3,3]) {
  %c = aten.conv1d.default(%x, %w)
  %d = aten.flatten.using_ints(%x, 0, 1)
  %d_1 = aten.flatten.using_ints(%v, 0, 1)
  %d_2 = aten.conv1d.default(%d, %d_1, groups = 2)
  %d_3 = aten.unflatten.int(%d_2, 0, [2, -1])
  %q = aten.einsum.default("Aij,Akj->Aik", [%c, %d_3])
  return (%q,)
}
)");
}

// The metas tell which dimensions have size 1, even where bodies are shared.
TEST(ExpandVmapTest, SqueezeAsFarAsSizesAreKnown) {
  ExpectExpanded(R"(
graph @f(%x : f32[2,3,1], %z : f32[1,3,4]) {
  %q = torch.vmap(@b, (%x,), out_dims = -1)
  %r = torch.vmap(@b, (%z,), out_dims = 1)
  return (%q, %r)
}
graph @b(%x) {
  %m = torch.mean(%x, -2, keepdim = True)
  %s = .squeeze(%m, 0)
  return %s
}
)",
                 R"(
graph @f(%x : f32[2,3,1], %z : f32[1,3,4]) {
  %m = aten.mean.dim(%x, [1], True)
  %s = aten.squeeze.dim(%m, 1)
  %q = aten.movedim.int(%s, 0, 1)
  %m_1 = aten.mean.dim(%z, [1], True)
  %s_1 = aten.squeeze.dim(%m_1, 1)
  %r = aten.movedim.int(%s_1, 0, 1)
  return (%q, %r)
}
)");
}

TEST(ExpandVmapTest, WritesByTensors) {
  ExpectExpanded(R"(
graph @f(%x : f32[2,3,8], %i : i64[2,4], %v : f32[4]) {
  %q = torch.vmap(@b, (%x, %i, %v), in_dims = (0, 0, None))
  return (%q,)
}
graph @b(%x, %i, %v) {
  %c = .clone(%x)
  %s = operator.setitem(%c, 0, 0.5)
  %t = operator.setitem(%c, (slice(None, None, None), %i), %v)
  return %c
}
)",
                 R"(
graph @f(%x : f32[2,3,8], %i : i64[2,4], %v : f32[4]) {
  %q = aten.clone.default(%x)
  %s = operator.setitem(%q, (slice(None, None, None), 0), 0.5)
  %t = builtins.getattr(%q, "device")
  %t_1 = torch.arange(2, device = %t)
  %t_2 = aten.unsqueeze.default(%t_1, 1)
  %t_3 = aten.unsqueeze.default(%v, 0)
  %t_4 = aten.movedim.int(%t_3, 1, 0)
  %t_5 = operator.setitem(%q, (%t_2, slice(None, None, None), %i), %t_4)
  return (%q,)
}
)");
}

// Inner calls of a call that stays are expanded on their own.
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

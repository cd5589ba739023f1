// Functionalize: the expected form of each kind of write, and the writes that are left whole.
#include "graphnet/passes/functional/functionalize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/pipeline.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

struct Result {
  std::string text;
  std::string notes;
  bool changed = false;
};

// Returns the lines of the graphs after the pass; a second run must change nothing.
Result Functionalized(const std::string& graphs, const std::string& options = "") {
  const auto module = ParseModule(graphs, "test");
  EXPECT_OK(module) << graphs;
  if (!module.ok()) return {};
  EXPECT_OK(Verify(**module));
  const auto pipeline = ParsePipeline(absl::StrCat("functionalize{", options, "}"));
  EXPECT_OK(pipeline);
  PipelineOptions verify;
  verify.verify_each = true;
  const auto first = RunPipeline(*pipeline, module->get(), verify);
  EXPECT_OK(first);
  if (!first.ok()) return {};
  PrintOptions print;
  print.values = false;
  print.locations = false;
  Result result{PrintModule(**module, print), "", (*first)[0].changed};
  for (const PassNote& note : (*first)[0].notes) absl::StrAppend(&result.notes, note.what, "\n");
  const auto second = RunPipeline(*pipeline, module->get(), verify);
  EXPECT_OK(second);
  if (second.ok()) {
    EXPECT_FALSE((*second)[0].changed) << result.text;
  }
  return result;
}

// Returns a graph with `body`, which may use %x : f32[2, 4], %y : f32[4], %i : i64[2, 4], %b :
// bool[2, 4].
std::string Graph(const std::string& body) {
  return absl::StrCat(
      "graph @forward(%x : f32[2, 4], %y : f32[4], %i : i64[2, 4], %b : bool[2, 4]) {\n", body,
      "}\n");
}

void ExpectBody(const std::string& before, const std::string& after,
                const std::string& options = "") {
  const Result result = Functionalized(Graph(before), options);
  const std::string head = "graph @forward(%x, %y, %i, %b) {\n";
  const size_t begin = result.text.find(head);
  ASSERT_NE(begin, std::string::npos) << result.text;
  EXPECT_EQ(result.text.substr(begin + head.size()), absl::StrCat(after, "}\nend\n"));
  EXPECT_EQ(result.notes, "");
  EXPECT_EQ(result.changed, before != after);
}

// Expects that the graph stays as it is, with this note.
void ExpectLeft(const std::string& before, const std::string& note) {
  const Result result = Functionalized(Graph(before));
  EXPECT_FALSE(result.changed) << result.text;
  EXPECT_THAT(result.text, HasSubstr(before));
  EXPECT_THAT(result.notes, HasSubstr(note));
}

TEST(FunctionalizeTest, NothingIsWritten) {
  ExpectBody(
      "  %s = .select(%x, 1, 0)\n"
      "  %r = torch.relu(%s)\n"
      "  return (%r, %s)\n",
      "  %s = .select(%x, 1, 0)\n"
      "  %r = torch.relu(%s)\n"
      "  return (%r, %s)\n");
}

TEST(FunctionalizeTest, EachSpelling) {
  ExpectBody(
      "  %a = torch.exp(%x)\n"
      "  %c = .add_(%a, 1)\n"
      "  %d = torch.nn.functional.relu(%c, inplace = True)\n"
      "  %e = aten.mul_.Tensor(%a, %y)\n"
      "  %f = operator.isub(%e, 2)\n"
      "  %g = torch.sigmoid_(%a)\n"
      "  return (%a,)\n",
      "  %a = torch.exp(%x)\n"
      "  %c = aten.add.Scalar(%a, 1)\n"
      "  %d = aten.relu.default(%c)\n"
      "  %e = aten.mul.Tensor(%d, %y)\n"
      "  %f = aten.sub.Scalar(%e, 2)\n"
      "  %g = aten.sigmoid.default(%f)\n"
      "  return (%g,)\n");
}

TEST(FunctionalizeTest, InputsGetTheirLastValue) {
  ExpectBody(
      "  %c = .add_(%x, 1)\n"
      "  %v = .view(%y, 2, 2)\n"
      "  %d = .zero_(%v)\n"
      "  %e = .mul_(%x, 2)\n"
      "  return (%v,)\n",
      "  %c = aten.add.Scalar(%x, 1)\n"
      "  %v = .view(%y, 2, 2)\n"
      "  %v_1 = aten.zero.default(%v)\n"
      "  %d = aten.reshape.default(%v_1, [4])\n"
      "  %e = aten.mul.Scalar(%c, 2)\n"
      "  %v_2 = aten.view.default(%d, [2, 2])\n"
      "  %x_3 = aten.copy_.default(%x, %e)\n"
      "  %y_2 = aten.copy_.default(%y, %d)\n"
      "  return (%v_2,)\n");
}

TEST(FunctionalizeTest, InputsAreReturned) {
  ExpectBody(
      "  %c = .add_(%x, 1)\n"
      "  %d = .zero_(%y)\n"
      "  return %c\n",
      "  %c = aten.add.Scalar(%x, 1)\n"
      "  %d = aten.zero.default(%y)\n"
      "  return (%c, %c, %d)\n",
      "outputs=true");
}

TEST(FunctionalizeTest, CopiesBackAreReturned) {
  ExpectBody(
      "  %c = torch.add(%x, 1)\n"
      "  %d = aten.copy_.default(%x, %c)\n"
      "  return (%c,)\n",
      "  %c = torch.add(%x, 1)\n"
      "  %d = aten.copy.default(%x, %c)\n"
      "  return (%c, %d)\n",
      "outputs=true");
}

TEST(FunctionalizeTest, ThroughChainsOfViews) {
  ExpectBody(
      "  %a = torch.zeros(2, 4)\n"
      "  %t = .t(%a)\n"
      "  %s = operator.getitem(%t, (slice(None, 2, None), 0))\n"
      "  %u = .unsqueeze(%s, -1)\n"
      "  %f = .fill_(%u, 3)\n"
      "  %r = .reshape(%a, -1)\n"
      "  return (%a, %t, %s, %r)\n",
      "  %a = torch.zeros(2, 4)\n"
      "  %t = .t(%a)\n"
      "  %s = operator.getitem(%t, (slice(None, 2, None), 0))\n"
      "  %u = .unsqueeze(%s, -1)\n"
      "  %u_1 = aten.fill.Scalar(%u, 3)\n"
      "  %s_1 = aten.squeeze.dim(%u_1, -1)\n"
      "  %f_1 = aten.slice.Tensor(%t, 0, 0, 2)\n"
      "  %f_2 = aten.select_scatter.default(%f_1, %s_1, 1, 0)\n"
      "  %t_1 = aten.slice_scatter.default(%t, %f_2, 0, 0, 2)\n"
      "  %f = aten.t.default(%t_1)\n"
      "  %r = .reshape(%f, -1)\n"
      "  %t_2 = aten.t.default(%f)\n"
      "  %output_1 = aten.slice.Tensor(%t_2, 0, 0, 2)\n"
      "  %s_2 = aten.select.int(%output_1, 1, 0)\n"
      "  return (%f, %t_2, %s_2, %r)\n");
}

TEST(FunctionalizeTest, EachInverse) {
  ExpectBody(
      "  %a = torch.exp(%x)\n"
      "  %p = .permute(%a, 1, 0)\n"
      "  %p1 = .add_(%p, 1)\n"
      "  %m = .movedim(%a, 0, -1)\n"
      "  %m1 = .add_(%m, 1)\n"
      "  %d = .diagonal(%a)\n"
      "  %d1 = .add_(%d, 1)\n"
      "  %q = .unflatten(%a, 1, (2, 2))\n"
      "  %q1 = .add_(%q, 1)\n"
      "  %n = .narrow(%a, 1, 1, 2)\n"
      "  %n1 = .add_(%n, 1)\n"
      "  %w = .unfold(%a, 1, 2, 2)\n"
      "  %w1 = .add_(%w, 1)\n"
      "  return (%a,)\n",
      "  %a = torch.exp(%x)\n"
      "  %p = .permute(%a, 1, 0)\n"
      "  %p_1 = aten.add.Scalar(%p, 1)\n"
      "  %p1 = aten.permute.default(%p_1, [1, 0])\n"
      "  %m = .movedim(%p1, 0, -1)\n"
      "  %m_1 = aten.add.Scalar(%m, 1)\n"
      "  %m1 = aten.movedim.int(%m_1, -1, 0)\n"
      "  %d = .diagonal(%m1)\n"
      "  %d_1 = aten.add.Scalar(%d, 1)\n"
      "  %d1 = aten.diagonal_scatter.default(%m1, %d_1, 0, 0, 1)\n"
      "  %q = .unflatten(%d1, 1, (2, 2))\n"
      "  %q_1 = aten.add.Scalar(%q, 1)\n"
      "  %q1 = aten.reshape.default(%q_1, [2, 4])\n"
      "  %n = .narrow(%q1, 1, 1, 2)\n"
      "  %n_1 = aten.add.Scalar(%n, 1)\n"
      "  %n1 = aten.slice_scatter.default(%q1, %n_1, 1, 1, 3)\n"
      "  %w = .unfold(%n1, 1, 2, 2)\n"
      "  %w_1 = aten.add.Scalar(%w, 1)\n"
      "  %w1_1 = aten.movedim.int(%w_1, -1, 2)\n"
      "  %w1 = aten.reshape.default(%w1_1, [2, 4])\n"
      "  return (%w1,)\n");
}

TEST(FunctionalizeTest, ElementsOfLists) {
  ExpectBody(
      "  %a = torch.exp(%x)\n"
      "  %c = torch.chunk(%a, 2, 1)\n"
      "  %c1 = operator.getitem(%c, 1)\n"
      "  %f = .fill_(%c1, 0)\n"
      "  %s = torch.cat(%c, 0)\n"
      "  %u = torch.unbind(%a)\n"
      "  %u0 = operator.getitem(%u, 0)\n"
      "  %g = .mul_(%u0, %y)\n"
      "  return (%s, %a)\n",
      "  %a = torch.exp(%x)\n"
      "  %c = torch.chunk(%a, 2, 1)\n"
      "  %c1 = operator.getitem(%c, 1)\n"
      "  %c1_1 = aten.fill.Scalar(%c1, 0)\n"
      "  %f = aten.slice_scatter.default(%a, %c1_1, 1, 2, 4)\n"
      "  %c_1 = aten.chunk.default(%f, 2, 1)\n"
      "  %s = torch.cat(%c_1, 0)\n"
      "  %u = torch.unbind(%f)\n"
      "  %u0 = operator.getitem(%u, 0)\n"
      "  %u0_1 = aten.mul.Tensor(%u0, %y)\n"
      "  %g = aten.select_scatter.default(%f, %u0_1, 0, 0)\n"
      "  return (%s, %g)\n");
}

TEST(FunctionalizeTest, Subscripts) {
  ExpectBody(
      "  %a = torch.exp(%x)\n"
      "  %s0 = operator.setitem(%a, (..., slice(0, 2, None)), 1.0)\n"
      "  %s1 = operator.setitem(%a, 0, %y)\n"
      "  %s2 = operator.setitem(%a, %b, 0)\n"
      "  %s3 = operator.setitem(%a, (slice(None, None, None), [0, 1]), 2.0)\n"
      "  %g = operator.getitem(%a, (1, None))\n"
      "  %h = operator.iadd(%g, 1)\n"
      "  %s4 = operator.setitem(%a, (1, None), %h)\n"
      "  %s5 = operator.setitem(%a, ..., %x)\n"
      "  return (%a,)\n",
      "  %a = torch.exp(%x)\n"
      "  %s0_1 = aten.slice.Tensor(%a, 1, 0, 2)\n"
      "  %s0_2 = aten.fill.Scalar(%s0_1, 1.0)\n"
      "  %s0 = aten.slice_scatter.default(%a, %s0_2, 1, 0, 2)\n"
      "  %s1_1 = aten.select.int(%s0, 0, 0)\n"
      "  %s1_2 = aten.copy.default(%s1_1, %y)\n"
      "  %s1 = aten.select_scatter.default(%s0, %s1_2, 0, 0)\n"
      "  %s2_1 = aten.new_full.default(%s1, [], 0)\n"
      "  %s2 = aten.index_put.default(%s1, [%b], %s2_1)\n"
      "  %s3_1 = torch.tensor([0, 1])\n"
      "  %s3_2 = aten.new_full.default(%s2, [], 2.0)\n"
      "  %s3 = aten.index_put.default(%s2, [None, %s3_1], %s3_2)\n"
      "  %g = operator.getitem(%s3, (1, None))\n"
      "  %g_1 = aten.add.Scalar(%g, 1)\n"
      "  %h_1 = aten.squeeze.dim(%g_1, 0)\n"
      "  %h = aten.select_scatter.default(%s3, %h_1, 0, 1)\n"
      "  %s5 = aten.copy.default(%h, %x)\n"
      "  return (%s5,)\n");
}

// x[…] = y drops leading dimensions of size 1 of y; copy and index_put do not.
TEST(FunctionalizeTest, DimensionsInFront) {
  ExpectBody(
      "  %a = torch.exp(%x)\n"
      "  %u = .view(%y, 1, 1, 4)\n"
      "  %s0 = operator.setitem(%a, 0, %u)\n"
      "  %s1 = operator.setitem(%a, [0, 1], %u)\n"
      "  return (%a,)\n",
      "  %a = torch.exp(%x)\n"
      "  %u = .view(%y, 1, 1, 4)\n"
      "  %s0_1 = aten.select.int(%a, 0, 0)\n"
      "  %s0_2 = aten.squeeze.dims(%u, [0, 1])\n"
      "  %s0_3 = aten.copy.default(%s0_1, %s0_2)\n"
      "  %s0 = aten.select_scatter.default(%a, %s0_3, 0, 0)\n"
      "  %s1_1 = torch.tensor([0, 1])\n"
      "  %s1_2 = aten.squeeze.dims(%u, [0, 1])\n"
      "  %s1 = aten.index_put.default(%s0, [%s1_1], %s1_2)\n"
      "  return (%s1,)\n");
}

TEST(FunctionalizeTest, WritesKeepTheDType) {
  ExpectBody(
      "  %a = torch.exp(%x)\n"
      "  %d = .double(%y)\n"
      "  %c = .add_(%a, %d)\n"
      "  %e = .eq_(%a, 0)\n"
      "  %g = .cumsum_(%i, 0)\n"
      "  return (%a,)\n",
      "  %a = torch.exp(%x)\n"
      "  %d = .double(%y)\n"
      "  %a_1 = aten.add.Tensor(%a, %d)\n"
      "  %c = aten.to.dtype(%a_1, torch.float32)\n"
      "  %a_3 = aten.eq.Scalar(%c, 0)\n"
      "  %e = aten.to.dtype(%a_3, torch.float32)\n"
      "  %g = aten.cumsum.default(%i, 0)\n"
      "  %i_2 = aten.copy_.default(%i, %g)\n"
      "  return (%e,)\n");
}

TEST(FunctionalizeTest, ShapesInPlace) {
  ExpectBody(
      "  %a = torch.exp(%x)\n"
      "  %t = .t_(%a)\n"
      "  %u = .unsqueeze_(%a, 0)\n"
      "  %f = .add_(%t, 1)\n"
      "  return (%a, %t)\n",
      "  %a = torch.exp(%x)\n"
      "  %t_1 = aten.t.default(%a)\n"
      "  %u_1 = aten.unsqueeze.default(%t_1, 0)\n"
      "  %u_2 = aten.add.Scalar(%u_1, 1)\n"
      "  %t_2 = aten.squeeze.dim(%u_2, 0)\n"
      "  %f = aten.t.default(%t_2)\n"
      "  %t_3 = aten.t.default(%f)\n"
      "  %u_3 = aten.unsqueeze.default(%t_3, 0)\n"
      "  return (%u_3, %u_3)\n");
}

TEST(FunctionalizeTest, RandomNumbersKeepTheirOrder) {
  ExpectBody(
      "  %a = torch.empty(2, 4)\n"
      "  %u = .uniform_(%a)\n"
      "  %e = torch.empty(3)\n"
      "  %n = .bernoulli_(%e)\n"
      "  %d = torch.nn.functional.dropout(%a, 0.5, True, True)\n"
      "  return (%d,)\n",
      "  %a = torch.empty(2, 4)\n"
      "  %u = aten.uniform.default(%a)\n"
      "  %e = torch.empty(3)\n"
      "  %n = aten.bernoulli.p(%e, 0.5)\n"
      "  %d = aten.dropout.default(%u, 0.5, True)\n"
      "  return (%d,)\n");
}

TEST(FunctionalizeTest, Statistics) {
  ExpectBody(
      "  %a = torch.zeros(4)\n"
      "  %v = torch.ones(4)\n"
      "  %n = torch.nn.functional.batch_norm(%x, %a, %v, %y, None, True, 0.1, 1e-05)\n"
      "  return (%n, %a, %v)\n",
      "  %a = torch.zeros(4)\n"
      "  %v = torch.ones(4)\n"
      "  %n_1 = aten._native_batch_norm_legit_functional.default(%x, %y, None, %a, %v, True, 0.1, "
      "1e-05)\n"
      "  %a_1 = operator.getitem(%n_1, 3)\n"
      "  %v_1 = operator.getitem(%n_1, 4)\n"
      "  %n = operator.getitem(%n_1, 0)\n"
      "  return (%n, %a_1, %v_1)\n");
}

TEST(FunctionalizeTest, ArgumentOut) {
  ExpectBody(
      "  %a = torch.empty_like(%x)\n"
      "  %c = torch.add(%x, 1, out = %a)\n"
      "  %d = aten.mul.out(%x, %c, out = %a)\n"
      "  return (%a,)\n",
      "  %a = torch.empty_like(%x)\n"
      "  %c = torch.add(%x, 1)\n"
      "  %c_1 = aten.copy.default(%a, %c)\n"
      "  %d = aten.mul.Tensor(%x, %c_1)\n"
      "  %d_1 = aten.copy.default(%c_1, %d)\n"
      "  return (%d_1,)\n");
  ExpectLeft(
      "  %a = torch.empty(0)\n"
      "  %c = torch.add(%x, 1, alpha = 2, out = %a)\n"
      "  return (%a,)\n",
      "out may have other sizes");
}

TEST(FunctionalizeTest, SeveralTensorsForResults) {
  for (const absl::string_view call :
       {"torch.max(%x, 1, out = (%a, %n))", "torch.max(%x, 1, out = [%a, %n])",
        "aten.max.dim_max(%x, 1, max = %a, max_values = %n)",
        "aten.max.dim_max(%x, 1, max_values = %n, max = %a)"}) {
    SCOPED_TRACE(call);
    const std::string made =
        absl::StartsWith(call, "torch") ? "torch.max(%x, 1)" : "aten.max.dim(%x, 1)";
    ExpectBody(absl::StrCat("  %a = torch.zeros(2)\n"
                            "  %n = torch.zeros(2, dtype = torch.int64)\n"
                            "  %c = ",
                            call,
                            "\n"
                            "  %v = operator.getitem(%c, 0)\n"
                            "  %d = operator.mul(%v, %n)\n"
                            "  return (%a, %n, %d)\n"),
               absl::StrCat("  %a = torch.zeros(2)\n"
                            "  %n = torch.zeros(2, dtype = torch.int64)\n"
                            "  %c = ",
                            made,
                            "\n"
                            "  %c_1 = operator.getitem(%c, 0)\n"
                            "  %c_2 = operator.getitem(%c, 1)\n"
                            "  %c_3 = aten.copy.default(%a, %c_1)\n"
                            "  %c_4 = aten.copy.default(%n, %c_2)\n"
                            "  %d = operator.mul(%c_3, %c_4)\n"
                            "  return (%c_3, %c_4, %d)\n"));
    // The sizes of %a are others, so the call stays.
    ExpectLeft(absl::StrCat("  %a = torch.empty(0)\n"
                            "  %n = torch.zeros(2, dtype = torch.int64)\n"
                            "  %c = ",
                            call, "\n  return (%a, %n)\n"),
               "what %c is given: out may have other sizes");
  }
}

TEST(FunctionalizeTest, ManyTensorsForResultsStay) {
  for (const int count : {64, 65}) {
    std::string body, outs;
    for (int i = 0; i < count; ++i) {
      absl::StrAppend(&body, "  %o", i, " = torch.zeros(4)\n");
      absl::StrAppend(&outs, i == 0 ? "" : ", ", "%o", i);
    }
    const Result result = Functionalized(
        absl::StrCat("graph @forward(%x : f32[", count, ", 4]) {\n", body,
                     "  %c = torch.unbind(%x, 0, out = [", outs, "])\n  return (%o0,)\n}\n"));
    EXPECT_EQ(result.changed, count == 64) << result.text << result.notes;
  }
}

// What a call with `out` reads may change, while its own write stays.
TEST(FunctionalizeTest, ArgumentOutOfACallThatReadsWhatWasWritten) {
  for (const absl::string_view call :
       {"torch.add(%a, 1, out = %l)", "aten.add.out(%a, %x, out = %l)",
        "aten.add.Scalar_out(%a, 1, out = %l)", "aten.exp.out(%a, out = %l)"}) {
    SCOPED_TRACE(call);
    const Result result =
        Functionalized(absl::StrCat("graph @forward(%x : f32[2]) {\n"
                                    "  %a = torch.exp(%x)\n"
                                    "  %m = aten.mul_.Scalar(%a, 2)\n"
                                    "  %l = torch.unknown(%x)\n"
                                    "  %c = ",
                                    call, "\n  return (%a, %c)\n}\n"));
    EXPECT_THAT(result.text, HasSubstr("%m = aten.mul.Scalar(%a, 2)"));
    EXPECT_THAT(result.text,
                HasSubstr(absl::StrCat("%c = ", absl::StrReplaceAll(call, {{"%a", "%m"}}))));
  }
}

TEST(FunctionalizeTest, DisjointPartsOfOneTensor) {
  ExpectBody(
      "  %a = torch.exp(%x)\n"
      "  %l = operator.getitem(%a, (slice(None, None, None), slice(None, 2, None)))\n"
      "  %r = operator.getitem(%a, (slice(None, None, None), slice(2, None, None)))\n"
      "  %c = .mul_(%l, %r)\n"
      "  return (%a,)\n",
      "  %a = torch.exp(%x)\n"
      "  %l = operator.getitem(%a, (slice(None, None, None), slice(None, 2, None)))\n"
      "  %r = operator.getitem(%a, (slice(None, None, None), slice(2, None, None)))\n"
      "  %l_1 = aten.mul.Tensor(%l, %r)\n"
      "  %c = aten.slice_scatter.default(%a, %l_1, 1, 0, 2)\n"
      "  return (%c,)\n");
}

TEST(FunctionalizeTest, Attributes) {
  const Result result = Functionalized(
      "attribute n : i64[]\n"
      "graph @forward(%x : f32[2]) {\n"
      "  %n = get_attr n\n"
      "  %c = .add_(%n, 1)\n"
      "  %m = get_attr n\n"
      "  %d = operator.mul(%x, %m)\n"
      "  return (%d,)\n"
      "}\n");
  EXPECT_THAT(result.text, HasSubstr("%c = aten.add.Scalar(%n, 1)\n"
                                     "  %m = get_attr n\n"
                                     "  %d = operator.mul(%x, %c)\n"
                                     "  %n_2 = aten.copy_.default(%n, %c)\n"));
}

// The writes of this body are not seen outside of it.
TEST(FunctionalizeTest, Bodies) {
  const Result result = Functionalized(
      "graph @forward(%p, %x : f32[2]) {\n"
      "  %r = torch.cond(%p, @yes, @no, (%x,))\n"
      "  %g = operator.getitem(%r, 0)\n"
      "  %c = .add_(%g, 1)\n"
      "  return (%c,)\n"
      "}\n"
      "graph @yes(%v) {\n"
      "  %a = torch.exp(%v)\n"
      "  %c = .add_(%a, 1)\n"
      "  return (%a,)\n"
      "}\n"
      "graph @no(%v) {\n"
      "  %a = torch.neg(%v)\n"
      "  return (%a,)\n"
      "}\n");
  EXPECT_THAT(result.text, HasSubstr("  %c = aten.add.Scalar(%a, 1)\n  return (%c,)\n"));
}

// A body that writes to its operands stays whole, and so do the operands.
TEST(FunctionalizeTest, BodiesThatWriteToTheirInputsStay) {
  const std::string graphs =
      "graph @forward(%p, %x) {\n"
      "  %a = torch.exp(%x)\n"
      "  %b = .add_(%a, 1)\n"
      "  %r = torch.cond(%p, @yes, @no, (%a,))\n"
      "  return (%r, %a)\n"
      "}\n\n"
      "graph @yes(%v) {\n"
      "  %c = .add_(%v, 1)\n"
      "  %e = torch.exp(%v)\n"
      "  %d = .add_(%e, 1)\n"
      "  return (%d,)\n"
      "}\n\n"
      "graph @no(%v) {\n"
      "  %a = torch.neg(%v)\n"
      "  return (%a,)\n"
      "}\n";
  const Result result = Functionalized(graphs);
  EXPECT_FALSE(result.changed);
  EXPECT_THAT(result.text, HasSubstr(graphs));
  EXPECT_THAT(result.notes, HasSubstr("@yes"));
  EXPECT_THAT(result.notes, HasSubstr("what %r is given"));
}

TEST(FunctionalizeTest, ElementsThatOverlapStay) {
  ExpectLeft(
      "  %a = torch.zeros(2, 1)\n"
      "  %e = .expand(%a, 2, 4)\n"
      "  %c = .add_(%e, %x)\n"
      "  return (%a,)\n",
      "graphnet cannot write through aten.expand.default");
  ExpectLeft(
      "  %a = torch.exp(%x)\n"
      "  %w = .unfold(%a, 1, 3, 1)\n"
      "  %c = .add_(%w, 1)\n"
      "  return (%a,)\n",
      "graphnet cannot write through aten.unfold.default");
  ExpectLeft(
      "  %a = torch.exp(%x)\n"
      "  %l = operator.getitem(%a, (slice(None, None, None), slice(None, 3, None)))\n"
      "  %r = operator.getitem(%a, (slice(None, None, None), slice(1, None, None)))\n"
      "  %c = .copy_(%l, %r)\n"
      "  return (%a,)\n",
      "the call that writes to it also reads it");
}

TEST(FunctionalizeTest, PossibleViewsStayWhileBothSidesAreRead) {
  ExpectLeft(
      "  %r = .reshape(%x, -1)\n"
      "  %c = .add_(%r, 1)\n"
      "  return (%r,)\n",
      "a value that may share its memory is used later");
  ExpectBody(
      "  %a = torch.exp(%x)\n"
      "  %r = .reshape(%a, -1)\n"
      "  %c = .add_(%r, 1)\n"
      "  return (%r,)\n",
      "  %a = torch.exp(%x)\n"
      "  %r = .reshape(%a, -1)\n"
      "  %c = aten.add.Scalar(%r, 1)\n"
      "  return (%c,)\n");
}

// The result is surely a new tensor, because of its dtype, its sizes or the number of operands.
TEST(FunctionalizeTest, PossibleViewsThatAreNewTensors) {
  for (const char* const call :
       {"torch.einsum(\"ij,kj->ik\", %a, %x)", "torch.einsum(\"ij->i\", %a)",
        "aten.to.dtype_layout(%a, dtype = torch.float64, layout = torch.strided)",
        "aten.to.other(%a, %i)", "aten.type_as.default(%a, %i)",
        "aten.sum_to_size.default(%a, [1, 4])", "torch.dropout(%a, 0.5, True)",
        "torch.chain_matmul(%a, %t)", "aten.to.dtype(%a, torch.float32, False, True)"}) {
    const std::string head =
        absl::StrCat("  %t = torch.zeros(4, 2)\n  %a = torch.exp(%x)\n  %r = ", call, "\n");
    ExpectBody(absl::StrCat(head, "  %c = .add_(%a, 1)\n  return (%a, %r)\n"),
               absl::StrCat(head, "  %c = aten.add.Scalar(%a, 1)\n  return (%c, %r)\n"));
  }
}

// The result is surely the tensor itself, so a write to one is read in the other.
TEST(FunctionalizeTest, PossibleViewsThatAreTheTensorItself) {
  for (const char* const call :
       {"aten.to.dtype_layout(%a, dtype = torch.float32, layout = torch.strided)",
        "aten.to.dtype(%a, torch.float32)", "torch.dropout(%a, 0.5, False)",
        "aten.alpha_dropout.default(%a, 0.0, True)", "torch.atleast_2d(%a)",
        "aten.conj_physical.default(%a)", "aten.sum_to_size.default(%a, [2, 4])"}) {
    const Result result = Functionalized(Graph(absl::StrCat(
        "  %a = torch.exp(%x)\n  %r = ", call, "\n  %c = .add_(%a, 1)\n  return (%a, %r)\n")));
    EXPECT_EQ(result.notes, "") << call;
    EXPECT_THAT(result.text, HasSubstr("return (%c, %c)")) << call << "\n" << result.text;
  }
  // These cases need known devices.
  for (const char* const call :
       {"aten.type_as.default(%x, %y)", "aten.to.other(%x, %y)",
        "aten.to.device(%x, device(\"cpu\"), torch.float32)",
        "aten.to.dtype_layout(%x, dtype = torch.float32, layout = torch.strided, device = "
        "device(\"cpu\"))"}) {
    const Result result = Functionalized(
        absl::StrCat("graph @forward(%x : f32[2]@cpu, %y : f32[2]@cpu) {\n  %r = ", call,
                     "\n  %c = .add_(%x, 1)\n  return (%r,)\n}\n"),
        "outputs=true");
    EXPECT_EQ(result.notes, "") << call;
    EXPECT_THAT(result.text, HasSubstr("return (%c, %c)")) << call << "\n" << result.text;
  }
}

TEST(FunctionalizeTest, UnknownCallsStay) {
  ExpectLeft(
      "  %a = torch.exp(%x)\n"
      "  %u = mylib.f(%a)\n"
      "  %c = .add_(%a, 1)\n"
      "  return (%a,)\n",
      "it is unknown what the call writes to");
  ExpectLeft(
      "  %a = torch.exp(%x)\n"
      "  %c = .resize_(%a, 2)\n"
      "  return (%a,)\n",
      "there is no functional form of aten.resize_.default");
}

// One of two memories is left, the other is rewritten.
TEST(FunctionalizeTest, OneGroupOfTwo) {
  const Result result =
      Functionalized(Graph("  %a = torch.exp(%x)\n"
                           "  %u = mylib.f(%a)\n"
                           "  %c = .add_(%a, 1)\n"
                           "  %d = torch.exp(%y)\n"
                           "  %e = .add_(%d, %c)\n"
                           "  return (%a, %d)\n"));
  EXPECT_THAT(result.text, HasSubstr("  %c = .add_(%a, 1)\n"));
  EXPECT_THAT(result.text, HasSubstr("aten.add.Tensor(%d, %c)\n"));
}

TEST(FunctionalizeTest, Autocast) {
  const auto graph = [](const char* enabled) {
    return absl::StrCat(
        "  %a = torch.exp(%x)\n"
        "  %m = torch.amp.autocast_mode._enter_autocast(\"cpu\", None, ",
        enabled,
        ", None)\n"
        "  %c = .add_(%a, 1)\n"
        "  %o = torch.amp.autocast_mode._exit_autocast(%m)\n"
        "  return (%a,)\n");
  };
  ExpectLeft(graph("True"), "autocast may compute its functional form in another dtype");
  EXPECT_TRUE(Functionalized(Graph(graph("False"))).changed);
}

// Returns `count` lines; the i-th has i in place of $ and i - 1 in place of #.
std::string Lines(const std::string& line, int count) {
  std::string lines;
  for (int i = 1; i <= count; ++i) {
    absl::StrAppend(&lines, "  ",
                    absl::StrReplaceAll(line, {{"$", absl::StrCat(i)}, {"#", absl::StrCat(i - 1)}}),
                    "\n");
  }
  return lines;
}

TEST(FunctionalizeTest, AViewOfManyViewsIsMadeAnew) {
  constexpr int kViews = 50'000;
  const std::string views = absl::StrCat(
      "  %v0 = aten.exp.default(%x)\n",
      Lines("%u$ = aten.unsqueeze.default(%v#, 0)\n  %v$ = aten.squeeze.dim(%u$, 0)", kViews),
      "  %w = aten.add_.Tensor(%v0, 1)\n  %z = aten.neg.default(%v", kViews, ")\n  return (%z,)\n");
  const auto module = ParseModule(Graph(views), "test");
  ASSERT_OK(module);
  const auto pipeline = ParsePipeline("functionalize");
  ASSERT_OK(pipeline);
  ASSERT_OK(RunPipeline(*pipeline, module->get(), {}));
  ASSERT_OK(Verify(**module));
  // The last view's chain is remade after the write, so the earlier views are dead.
  EXPECT_EQ((*module)->num_nodes(), 4 + 2 * kViews + 4);
  EXPECT_EQ((*module)->main()->FindNode("w")->target(), "aten.add.Tensor");
}

TEST(FunctionalizeTest, ManyViewsOfManyWritesAreRefusedInOneLine) {
  const std::string chain =
      absl::StrCat("  %v0 = aten.exp.default(%x)\n",
                   Lines("%u$ = aten.unsqueeze.default(%v#, 0)\n"
                         "  %v$ = aten.squeeze.dim(%u$, 0)",
                         1500),
                   Lines("%w$ = aten.add_.Tensor(%v0, 1)\n  %z$ = aten.neg.default(%v1500)", 1500),
                   "  return (%z1500,)\n");
  const auto module = ParseModule(Graph(chain), "test");
  ASSERT_OK(module);
  const auto pipeline = ParsePipeline("functionalize");
  ASSERT_OK(pipeline);
  EXPECT_THAT(RunPipeline(*pipeline, module->get(), {}).status().message(),
              HasSubstr("the views of written memory take more than 16 calls"));
}

}  // namespace
}  // namespace graphnet

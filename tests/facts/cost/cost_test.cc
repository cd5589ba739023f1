#include "graphnet/facts/cost/cost.h"

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graphnet/facts/cost/flops.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ops/schema_table.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

ModuleCost CostOfText(absl::string_view text) {
  const absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(text, "test");
  EXPECT_OK(module) << text;
  return module.ok() ? CostOf(**module) : ModuleCost();
}

// Returns the cost of one call: "f32[2, 4] = torch.mm(%x, %y)" with the parameters "%x : f32[2, 3],
// %y : f32[3, 4]".
Cost CostOfLine(absl::string_view parameters, absl::string_view type, absl::string_view call,
                absl::string_view head = "") {
  return CostOfText(absl::StrCat(head, "graph @forward(", parameters, ") {\n  %n = ", call,
                                 type.empty() ? "" : " : ", type, "\n  return (%n,)\n}\n"))
      .total;
}

TEST(CostTest, CountsProductsAsPyTorchDoes) {
  const Cost cost = CostOfLine("%x : f32[2, 3], %y : f32[3, 4]", "f32[2, 4]", "torch.mm(%x, %y)");
  EXPECT_EQ(cost, (Cost{.flops = 2 * 2 * 3 * 4, .bytes = 4 * (6 + 12 + 8), .calls = 1}));
  // The cost is the same in every form of the call.
  for (const char* call : {"operator.matmul(%x, %y)", "torch.matmul(%x, %y)", ".matmul(%x, %y)",
                           "aten.mm.default(%x, %y)", "torch.einsum(\"ij,jk->ik\", %x, %y)"}) {
    EXPECT_EQ(CostOfLine("%x : f32[2, 3], %y : f32[3, 4]", "f32[2, 4]", call).flops, 48) << call;
  }
  EXPECT_EQ(CostOfLine("%x : f32[5, 2, 3], %w : f32[7, 3], %b : f32[7]", "f32[5, 2, 7]",
                       "torch.nn.functional.linear(%x, %w, %b)")
                .flops,
            2 * 5 * 2 * 3 * 7);
  EXPECT_EQ(CostOfLine("%x : f32[2, 4, 9, 9], %w : f32[6, 2, 3, 3]", "f32[2, 6, 7, 7]",
                       "torch.conv2d(%x, %w, groups = 2)")
                .flops,
            2 * 2 * 6 * 7 * 7 * 2 * 3 * 3);
}

TEST(CostTest, CountsKernelsOfAttentionAsProducts) {
  const int64_t flops = 2 * 2 * 4 * 5 * 6 * (8 + 3);
  const char* parameters = "%q : f32[2, 4, 5, 8], %k : f32[2, 4, 6, 8], %v : f32[2, 4, 6, 3]";
  EXPECT_EQ(CostOfLine(parameters, "f32[2, 4, 5, 3]",
                       "torch.nn.functional.scaled_dot_product_attention(%q, %k, %v)")
                .flops,
            flops);
  EXPECT_EQ(CostOfLine(parameters, "(f32[2, 4, 5, 3], f32[2, 4, 5])",
                       "aten._scaled_dot_product_flash_attention_for_cpu.default(%q, %k, %v)")
                .flops,
            flops);
}

TEST(CostTest, CountsOtherWorkInAnotherColumn) {
  const auto of = [](absl::string_view type, absl::string_view call) {
    return CostOfLine("%x : f32[2, 3], %y : f32[3, 4], %z : f32[2, 4], %v : f32[3], %i : i64[5]",
                      type, call);
  };
  EXPECT_EQ(of("f32[2, 3]", "torch.add(%x, %v)"),
            (Cost{.other = 6, .bytes = 4 * (6 + 3 + 6), .calls = 1}));
  EXPECT_EQ(of("f32[2]", "torch.sum(%x, 1)").other, 6);
  EXPECT_EQ(of("f32[2, 3]", "torch.softmax(%x, 1)").other, 5 * 6);
  EXPECT_EQ(of("f32[2, 3]", "torch.nn.functional.layer_norm(%x, (3,))").other, 7 * 6);
  // FlopCounterMode knows addmm, not addmm_.
  EXPECT_EQ(of("f32[2, 4]", "torch.addmm(%z, %x, %y)").flops, 48);
  EXPECT_EQ(of("f32[2, 4]", "aten.addmm_.default(%z, %x, %y)").flops, 0);
  EXPECT_EQ(of("f32[2]", "torch.mv(%x, %v)"),
            (Cost{.other = 12, .bytes = 4 * (6 + 3 + 2), .calls = 1}));
  // These compute nothing and move nothing.
  for (const char* call : {".view(%x, (3, 2))", ".t(%x)", ".reshape(%x, 3, 2)",
                           "torch.nn.functional.dropout(%x, 0.5, False)"}) {
    const absl::string_view type = absl::StrContains(call, "dropout") ? "f32[2, 3]" : "f32[3, 2]";
    EXPECT_EQ(of(type, call), (Cost{.calls = 1})) << call;
  }
  EXPECT_EQ(of("f32[2, 3]", "torch.nn.functional.dropout(%x, 0.5, True)").other, 6);
  // Only the selected rows of a table are read.
  EXPECT_EQ(of("f32[5, 4]", "torch.nn.functional.embedding(%i, %y)").bytes,
            4 * 12 + 8 * 5 + 4 * 20);
  EXPECT_EQ(of("f16[2, 3]", ".half(%x)").bytes, 2 * 6 + 2 * 6);
}

TEST(CostTest, ReportsUnknownWork) {
  EXPECT_EQ(CostOfLine("%x, %y", "", "torch.mm(%x, %y)").unknown, 1);
  const Cost foreign = CostOfLine("%x : f32[2]", "f32[2]", "mylib.op.default(%x)");
  EXPECT_EQ(foreign.unknown, 1);
  EXPECT_EQ(foreign.other, 0);
  // These calls are not valid.
  for (const char* call : {"operator.getitem(%x)", "torch.mm(%x)", "torch.vmap(%x)"})
    EXPECT_EQ(CostOfLine("%x : f32[2]", "", call).unknown, 1) << call;
  // Sizes follow from the operands, without LibTorch.
  const ModuleCost chain = CostOfText(
      "graph @forward(%x : f32[2, 3], %y : f32[3, 4]) {\n"
      "  %a = torch.mm(%x, %y)\n  %b = torch.relu(%a)\n  return (%b,)\n}\n");
  EXPECT_EQ(chain.total,
            (Cost{.flops = 48, .other = 8, .bytes = 4 * (6 + 12 + 8) + 4 * 16, .calls = 2}));
}

TEST(CostTest, TakesExamplesOfSymbols) {
  EXPECT_EQ(CostOfLine("%x : f32[S0, 3], %y : f32[3, 4]", "f32[S0, 4]", "torch.mm(%x, %y)",
                       "symbol S0 = 5\n")
                .flops,
            2 * 5 * 3 * 4);
  EXPECT_EQ(
      CostOfLine("%x : f32[S0, 3], %y : f32[3, 4]", "f32[S0, 4]", "torch.mm(%x, %y)", "symbol S0\n")
          .unknown,
      1);
}

TEST(CostTest, EmptyTensorsCostNothingAndLargeOnesTheMost) {
  EXPECT_EQ(CostOfLine("%x : f32[0, 4294967296, 4294967296]", "f32[0, 4294967296, 4294967296]",
                       "torch.relu(%x)"),
            (Cost{.calls = 1}));
  const int64_t most = std::numeric_limits<int64_t>::max();
  const ModuleCost large = CostOfText(
      "graph @forward(%x : f32[4294967296, 4294967296]) {\n"
      "  %a = torch.mm(%x, %x) : f32[4294967296, 4294967296]\n"
      "  %b = torch.mm(%a, %a) : f32[4294967296, 4294967296]\n  return (%b,)\n}\n");
  EXPECT_EQ(large.total.flops, most);
  EXPECT_EQ(large.total.bytes, most);
}

constexpr char kProduct[] =
    "graph @once(%x) {\n  %p = torch.mm(%x, %x)\n  return %p\n}\n"
    "graph @twice(%x) {\n  %p = torch.mm(%x, %x)\n  %q = torch.mm(%p, %x)\n  return %q\n}\n";

TEST(CostTest, CountsABodyAsOftenAsItRuns) {
  const ModuleCost cond = CostOfText(absl::StrCat(
      "graph @forward(%p : bool[], %x : f32[3, 3]) {\n"
      "  %n = torch.cond(%p, @once, @twice, (%x,))\n  %m = torch.mm(%n, %x)\n  return (%m,)\n}\n",
      kProduct));
  EXPECT_EQ(cond.total.flops, (2 + 1) * 54);
  EXPECT_EQ(cond.total.unknown, 0);
  const ModuleCost vmap = CostOfText(
      absl::StrCat("graph @forward(%x : f32[3, 7, 3]) {\n"
                   "  %n = torch.vmap(@twice, (%x,), in_dims = (1,))\n  %m = torch.bmm(%n, %n)\n"
                   "  return (%m,)\n}\n",
                   kProduct));
  EXPECT_EQ(vmap.total.flops, 7 * 2 * 54 + 7 * 54);
  const ModuleCost scan = CostOfText(
      "graph @forward(%c : f32[3, 3], %x : f32[4, 3, 3]) {\n"
      "  %s = torch.ops.higher_order.scan(@body, [%c], [%x], ())\n"
      "  %n = operator.getitem(%s, 0)\n  return (%n,)\n}\n"
      "graph @body(%c, %x) {\n  %p = torch.mm(%c, %x)\n  return (%p, %p)\n}\n");
  EXPECT_EQ(scan.total.flops, 4 * 54);
  const ModuleCost loop = CostOfText(
      "graph @forward(%x : f32[3, 3]) {\n"
      "  %w = torch.while_loop(@below, @body, (%x,), ())\n"
      "  %n = operator.getitem(%w, 0)\n  return (%n,)\n}\n"
      "graph @below(%x) {\n  %s = torch.sum(%x)\n  %b = torch.lt(%s, 3)\n  return %b\n}\n"
      "graph @body(%x) {\n  %p = torch.mm(%x, %x)\n  return (%p,)\n}\n");
  EXPECT_EQ(loop.total.flops, 54);
  EXPECT_EQ(loop.open_loops, 1);
  // Nodes of bodies are counted separately.
  ASSERT_FALSE(loop.calls.empty());
  EXPECT_EQ(loop.calls.back().first->graph()->name(), "body");
}

TEST(CostTest, LevelsOfVmapThatAreOpenedOneByOneCountAlike) {
  const ModuleCost cost = CostOfText(
      "graph @forward(%x : f32[7, 3, 3], %y : f32[3, 3]) {\n"
      "  %l = torch._C._functorch._vmap_increment_nesting(7, \"error\")\n"
      "  %b = torch._C._functorch._add_batch_dim(%x, 0, 1) : f32[3, 3]\n"
      "  %p = torch.mm(%b, %y) : f32[3, 3]\n"
      "  %q = torch.mm(%y, %y) : f32[3, 3]\n"
      "  %r = torch._C._functorch._remove_batch_dim(%p, 1, 7, 0) : f32[7, 3, 3]\n"
      "  %d = torch._C._functorch._vmap_decrement_nesting()\n"
      "  return (%r, %q)\n}\n");
  EXPECT_EQ(cost.total.flops, (7 + 1) * 54);
  EXPECT_EQ(cost.total.unknown, 0);
}

TEST(CostTest, VisitsSharedBodiesOnce) {
  // The innermost body runs 2^60 times.
  std::string text =
      "graph @forward(%x : f32[3, 3]) {\n"
      "  %n = torch.ops.higher_order.wrap(@g0, %x)\n  return (%n,)\n}\n";
  for (int i = 0; i < 15; ++i) {
    absl::StrAppend(&text, "graph @g", i, "(%x) {\n");
    for (int j = 0; j < 16; ++j) {
      absl::StrAppend(&text, "  %n", j, " = torch.ops.higher_order.wrap(@g", i + 1, ", ",
                      j == 0 ? "%x" : absl::StrCat("%n", j - 1), ")\n");
    }
    absl::StrAppend(&text, "  return %n15\n}\n");
  }
  absl::StrAppend(&text, "graph @g15(%x) {\n  %n = torch.relu(%x)\n  return %n\n}\n");
  const ModuleCost cost = CostOfText(text);
  EXPECT_EQ(cost.total.unknown, 0);
  EXPECT_EQ(cost.total.other, std::numeric_limits<int64_t>::max());  // more than 9 * 2^60
}

// Returns the bytes that are alive while each node runs, for a graph with one f32[8] input. Each
// value has 32 bytes.
std::map<std::string, int64_t> AliveOfLines(absl::string_view lines, absl::string_view head = "") {
  const absl::StatusOr<std::unique_ptr<Module>> module =
      ParseModule(absl::StrCat(head, "graph @forward(%x : f32[8]) {\n", lines, "}\n"), "test");
  EXPECT_OK(module) << lines;
  std::map<std::string, int64_t> result;
  if (!module.ok()) return result;
  const ModuleCost cost = CostOf(**module);
  for (const auto& [node, bytes] : cost.alive_bytes) {
    if (node->is_call()) result[std::string(node->name())] = bytes;
    EXPECT_LE(bytes, cost.peak_bytes);
  }
  return result;
}

TEST(CostTest, MemoryLivesUntilItsLastUse) {
  using ::testing::ElementsAre;
  using ::testing::Pair;
  // The input lives all the time; an unused value lives only while it is made.
  EXPECT_THAT(AliveOfLines("  %a = torch.neg(%x)\n  %b = torch.neg(%a)\n  %dead = torch.neg(%b)\n"
                           "  %d = torch.neg(%b)\n  return (%d,)\n"),
              ElementsAre(Pair("a", 64), Pair("b", 96), Pair("d", 96), Pair("dead", 96)));
  // Views and calls in place use the memory of another value and keep it alive.
  EXPECT_THAT(
      AliveOfLines("  %a = torch.neg(%x)\n  %b = .view(%a, 4, 2)\n  %c = .relu_(%b)\n"
                   "  %d = torch.neg(%x)\n  %e = torch.add(%c, 1)\n  return (%e,)\n"),
      ElementsAre(Pair("a", 64), Pair("b", 64), Pair("c", 64), Pair("d", 96), Pair("e", 96)));
  // A cast makes a new tensor, unless there is nothing to cast.
  EXPECT_THAT(
      AliveOfLines(
          "  %a = .to(%x, torch.float16)\n  %b = .to(%x, torch.float32)\n  return (%a, %b)\n"),
      ElementsAre(Pair("a", 48), Pair("b", 48)));
  // A tuple keeps its elements alive, and a getitem has no memory of its own.
  EXPECT_THAT(AliveOfLines("  %a = torch.sort(%x)\n  %b = operator.getitem(%a, 0)\n"
                           "  %c = torch.neg(%b)\n  %d = torch.neg(%c)\n  return (%d,)\n"),
              ElementsAre(Pair("a", 128), Pair("b", 128), Pair("c", 160), Pair("d", 96)));
}

TEST(CostTest, AttributesLiveAllTheTime) {
  using ::testing::ElementsAre;
  using ::testing::Pair;
  EXPECT_THAT(AliveOfLines("  %w = get_attr w : f32[8]\n  %v = get_attr w : f32[8]\n"
                           "  %a = torch.add(%w, %v)\n  %b = torch.neg(%a)\n  return (%b,)\n",
                           "attribute w : f32[8] as torch.nn.parameter.Parameter\n"
                           "attribute unused : f32[100]\n"),
              ElementsAre(Pair("a", 496), Pair("b", 528)));
}

TEST(CostTest, MemoryBeyondInt64StaysAtTheLargest) {
  const std::string size = "[4611686018427387904]";  // 2^62 elements of one byte
  const ModuleCost cost =
      CostOfText(absl::StrCat("graph @forward(%x : u8", size, ", %y : u8", size,
                              ") {\n  %a = torch.add(%x, %y) : u8", size, "\n  return (%a,)\n}\n"));
  EXPECT_EQ(cost.peak_bytes, std::numeric_limits<int64_t>::max());
}

TEST(CostTest, EachNameOfTheTableIsAnOperator) {
  for (const absl::string_view name : OperatorsWithCosts()) {
    EXPECT_FALSE(FindSchemas(name).empty() && FindSchemas(absl::StrCat(name, "_")).empty() &&
                 FindFunctions(name).empty())
        << name;
  }
}

TEST(WorkClassTest, IsThatOfTheTables) {
  const std::map<WorkClass, std::vector<std::string>> expected = {
      {WorkClass::kAttention, {"scaled_dot_product_attention", "multi_head_attention_forward"}},
      {WorkClass::kConvolution, {"conv2d", "conv_transpose1d", "convolution"}},
      {WorkClass::kRecurrent, {"lstm", "gru_cell"}},
      {WorkClass::kMatmul, {"linear", "matmul", "bmm", "einsum", "mv"}},
      {WorkClass::kNormalisation, {"layer_norm", "batch_norm", "softmax", "rms_norm"}},
      {WorkClass::kReduction, {"sum", "mean", "max_pool2d", "argmax", "cross_entropy_loss"}},
      {WorkClass::kPointwise, {"add", "relu", "gelu", "dropout", "mul"}},
      {WorkClass::kMovement,
       {"view", "reshape", "transpose", "cat", "getitem", "embedding", "size", "permute", "where"}},
      {WorkClass::kOther, {"", "own_operator", "linalg_svd"}}};
  for (const auto& [work, names] : expected) {
    for (const std::string& name : names)
      EXPECT_EQ(WorkClassName(WorkClassOf(name)), WorkClassName(work)) << name;
  }
}

}  // namespace
}  // namespace graphnet

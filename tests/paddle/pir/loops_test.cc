#include "graphnet/paddle/pir/loops.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/paddle/pir/fusion.h"
#include "graphnet/paddle/pir/lower.h"
#include "graphnet/paddle/pir/printer.h"
#include "graphnet/paddle/pir/reader.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet::pir {
namespace {

using testing::HasSubstr;
using testing::Not;

std::unique_ptr<Module> Lowered(const std::string& graph, const PirOptions& options = {}) {
  const auto module = ParseModule(absl::StrCat("graphnet.module 1\n", graph, "end\n"), "m.gn");
  EXPECT_OK(module);
  auto lowered = ToPir(**module, options);
  EXPECT_OK(lowered);
  return *std::move(lowered);
}

size_t Count(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

std::string Loops(const Module& module, const LoopOptions& options = {}) {
  const auto text = PrintLoops(module, options);
  EXPECT_OK(text);
  return text.value_or("");
}

// The example of spec.md, 004: 32 blocks of 256 threads are 64 * 128 elements.
// tests/pytorch/compare.py loops checks the numbers that it computes.
constexpr char kDifference[] = R"(
graph @forward(%x : f32[64, 128], %y : f32[64, 128]) {
  %tmp = torch.sub(%x, %y)
  %out = torch.mul(%tmp, %x)
  return (%out,)
}
)";

TEST(Loops, SerialForm) {
  const auto module = Lowered(kDifference);
  const std::string body = R"({
  ScheduleBlock(root_1)
  {
    serial for (i, 0ll, 64ll)
    {
      serial for (j, 0ll, 128ll)
      {
        ScheduleBlock(var_3)
        {
          i0_1, i1_1 = axis.bind(i, j)
          var_3[i0_1, i1_1] = ((var[i0_1, i1_1] - var_0[i0_1, i1_1]) * var[i0_1, i1_1])
        }
      }
    }
  }
}
)";
  EXPECT_EQ(Loops(*module, {.group = 0}), body);
  EXPECT_EQ(Loops(*module),
            absl::StrCat("inputs (x: float32[64, 128], y: float32[64, 128])\n"
                         "function group_0 (_var: float32[64, 128], _var_0: float32[64, 128], "
                         "_var_3: float32[64, 128])\n",
                         body,
                         "call group_0 (x, y) -> (multiply: float32[64, 128])\n"
                         "outputs (multiply)\n"));
  EXPECT_THAT(PrintLoops(*module, {.group = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, "no group 1: there are 1"));
}

TEST(Loops, BoundForm) {
  EXPECT_EQ(Loops(*Lowered(kDifference), {.bound = true, .group = 0}), R"({
  ScheduleBlock(root_1)
  {
    thread_bind[blockIdx.x] for (i_j_fused, 0, 32)
    {
      thread_bind[threadIdx.x] for (i_j_fused_0, 0, 256)
      {
        ScheduleBlock(var_3)
        {
          i0_1, i1_1 = axis.bind((((i_j_fused * 256) + i_j_fused_0) / 128), (i_j_fused_0 % 128ll))
          read_buffers(_var[i0_1(0:64ll), i1_1(0:128ll)], _var_0[i0_1(0:64ll), i1_1(0:128ll)], _var[i0_1(0:64ll), i1_1(0:128ll)])
          write_buffers(_var_3[i0_1(0:64ll), i1_1(0:128ll)])
          var_3[i0_1, i1_1] = ((var[i0_1, i1_1] - var_0[i0_1, i1_1]) * var[i0_1, i1_1])
        }
      }
    }
  }
}
)");
}

// In a single block, a chain that doubles with each step would have a million loads.
TEST(Loops, BlocksHaveALimit) {
  std::string graph = "graph @forward(%x : f32[8]) {\n  %v0 = torch.mul(%x, %x)\n";
  for (int i = 1; i < 20; ++i) {
    absl::StrAppend(&graph, "  %v", i, " = torch.mul(%v", i - 1, ", %v", i - 1, ")\n");
  }
  const std::string text = Loops(*Lowered(graph + "  return (%v19,)\n}\n"));
  EXPECT_EQ(Count(text, "function group_"), 1);
  EXPECT_EQ(Count(text, "ScheduleBlock(var"), 4);
  EXPECT_EQ(Count(text, "buffers (_var_4: float32[8], "), 1);
  EXPECT_LT(text.size(), 10000);
}

TEST(Loops, ExcludesSurplusThreads) {
  const auto module =
      Lowered("graph @forward(%x : f32[300]) {\n  %r = torch.exp(%x)\n  return (%r,)\n}\n");
  const std::string text = Loops(*module, {.bound = true});
  EXPECT_THAT(text, HasSubstr("thread_bind[blockIdx.x] for (i, 0, 2)\n"));
  EXPECT_THAT(text, HasSubstr("if (((i * 256) + i_0) < 300)\n"));
}

TEST(Loops, GroupsEndAtReductionsAndAtOtherOperators) {
  const std::string text = Loops(*Lowered(R"(
graph @forward(%x : f32[4, 8], %w : f32[8, 8], %s : f32[4]) {
  %a = torch.exp(%x)
  %b = torch.sum(%a, 1)
  %c = torch.mul(%b, %s)
  %d = torch.matmul(%a, %w)
  %e = torch.relu(%d)
  return (%c, %e)
}
)"));
  EXPECT_EQ(Count(text, "function group_"), 3);
  EXPECT_THAT(text, HasSubstr("call pd_op.matmul (exp, w) -> (matmul: float32[4, 8])\n"));
  EXPECT_THAT(text, HasSubstr("call group_0 (x) -> (exp: float32[4, 8], sum: float32[4])\n"));
  EXPECT_THAT(text, HasSubstr("ScheduleBlock(var_3__reduce_init)"));
  EXPECT_THAT(text, HasSubstr("serial for (reduce_j, 0ll, 8ll)"));
  EXPECT_THAT(text, HasSubstr("var_3[i0_2] = (var_3[i0_2] + var_2[i0_2, i1_2])"));
}

TEST(Loops, UnknownSizesMakeNoGroup) {
  const std::string text = Loops(
      *Lowered("graph @forward(%x : f32) {\n  %r = torch.exp(%x) : f32\n  return (%r,)\n}\n"));
  EXPECT_THAT(text, Not(HasSubstr("function")));
  EXPECT_THAT(text, HasSubstr("call pd_op.exp (x) -> (exp"));
}

TEST(Loops, SymbolicSizes) {
  const auto lowered = Lowered(R"(
symbol S0
graph @forward(%x : f32[S0, 8], %b : f32[8]) {
  %a = torch.add(%x, %b) : f32[S0, 8]
  %s = torch.sum(%a, 0) : f32[8]
  return (%s,)
}
)");
  const std::string serial = Loops(*lowered);
  EXPECT_EQ(Count(serial, "function group_"), 1);
  EXPECT_THAT(serial, HasSubstr("_var: float32[S0, 8], _var_0: float32[8]"));
  EXPECT_THAT(serial, HasSubstr("serial for (reduce_i, 0ll, S0)\n"));
  EXPECT_THAT(serial, HasSubstr("var_3[i1_1] = (var_3[i1_1] + (var[i0_1, i1_1] + var_0[i1_1]))"));
  FuseGroups(lowered.get());
  const std::string fused = *PrintPir(*lowered);
  EXPECT_EQ(Count(fused, "cinn_op.fusion"), 1);
  EXPECT_THAT(fused, HasSubstr("shape[S0, 8]"));
}

// There are enough blocks for all elements, and the last may have surplus threads.
TEST(Loops, ThreadsOfSymbolicSizes) {
  const auto bound = [](const std::string& type) {
    return Loops(*Lowered("symbol S0\nsymbol S1\ngraph @forward(%x : " + type +
                          ") {\n  %a = torch.exp(%x) : " + type + "\n  return (%a,)\n}\n"),
                 {.bound = true});
  };
  const std::string guarded = bound("f32[S0, 8]");
  EXPECT_THAT(guarded, HasSubstr("thread_bind[blockIdx.x] for (i_j_fused, 0, "
                                 "(((S0 * 8ll) + 255ll) / 256ll))\n"));
  EXPECT_THAT(guarded, HasSubstr("if (((i_j_fused * 256) + i_j_fused_0) < (S0 * 8ll))\n"));
  EXPECT_THAT(guarded, HasSubstr("axis.bind((((i_j_fused * 256) + i_j_fused_0) / 8), "
                                 "(i_j_fused_0 % 8ll))"));
  // 256 divides the number of elements.
  const std::string whole = bound("f32[S0, 512]");
  EXPECT_THAT(whole, HasSubstr("for (i_j_fused, 0, (S0 * 2ll))\n"));
  EXPECT_THAT(whole, Not(HasSubstr("if (")));
  EXPECT_THAT(whole, HasSubstr("(((i_j_fused * 256) + i_j_fused_0) % 512ll)"));
  EXPECT_THAT(bound("f32[4, S0 + 1, S1]"),
              HasSubstr("((((i_j_k_fused * 256) + i_j_k_fused_0) / S1) % (S0 + 1ll))"));
}

// Both paths from %a to %d are in one group, except for the value that goes around it through the
// product.
TEST(Groups, NoValueGoesAroundAGroup) {
  const std::string text = Loops(*Lowered(R"(
graph @forward(%x : f32[8, 8]) {
  %a = torch.exp(%x)
  %b = torch.matmul(%a, %a)
  %c = torch.tanh(%b)
  %d = torch.add(%a, %c)
  %e = torch.sin(%x)
  %f = torch.add(%d, %e)
  return (%f,)
}
)"));
  EXPECT_EQ(Count(text, "function group_"), 2);
  EXPECT_LT(text.find("-> (exp:"), text.find("call pd_op.matmul"));
  EXPECT_LT(text.find("call pd_op.matmul"), text.find("= (tanh("));
}

// The example of spec.md, 004.
TEST(Fusion, DifferenceTimesX) {
  const auto module = Lowered(kDifference);
  FuseGroups(module.get());
  EXPECT_THAT(PrintPir(*module), IsOkAndHolds(R"pir({
    (%0) = "pd_op.data" [id:1] () {dtype:(pd_op.DataType)float32,name:"x",place:(pd_op.Place)Place(undefined:0),shape:(pd_op.IntArray)[64,128],stop_gradient:[false],sym_shape_str:"shape[64, 128], data[NULL]"} : () -> builtin.tensor<64x128xf32> { (shape[64, 128], data[NULL]) }	(op_1)
    (%1) = "pd_op.data" [id:2] () {dtype:(pd_op.DataType)float32,name:"y",place:(pd_op.Place)Place(undefined:0),shape:(pd_op.IntArray)[64,128],stop_gradient:[false],sym_shape_str:"shape[64, 128], data[NULL]"} : () -> builtin.tensor<64x128xf32> { (shape[64, 128], data[NULL]) }	(op_2)
    (%2) = "cinn_op.fusion" [id:3] () -> builtin.tensor<64x128xf32> {
        (%3) = "pd_op.subtract" [id:4] (%0, %1) {stop_gradient:[false],sym_shape_str:"shape[64, 128], data[NULL]"} : (builtin.tensor<64x128xf32>, builtin.tensor<64x128xf32>) -> builtin.tensor<64x128xf32> { (shape[64, 128], data[NULL]) }	(op_4)
        (%4) = "pd_op.multiply" [id:5] (%3, %0) {stop_gradient:[false],sym_shape_str:"shape[64, 128], data[NULL]"} : (builtin.tensor<64x128xf32>, builtin.tensor<64x128xf32>) -> builtin.tensor<64x128xf32> { (shape[64, 128], data[NULL]) }	(op_5)
        (%5) = "cinn_op.yield_store" [id:6] (%4) {} : (builtin.tensor<64x128xf32>) -> builtin.tensor<64x128xf32> { (shape[64, 128], data[NULL]) }	(op_6)
        () = "cf.yield" [id:7] (%5) {} : (builtin.tensor<64x128xf32>) ->  {  }	(op_7)
    } { (shape[64, 128], data[NULL]) }	(op_3)
    () = "builtin.shadow_output" [id:8] (%2) {output_name:"output_0",sym_shape_str:"shape[64, 128], data[NULL]"} : (builtin.tensor<64x128xf32>) ->  {  }	(op_8)
}
)pir"));
}

TEST(Fusion, AGroupIsARegion) {
  const auto module = Lowered(R"(
graph @forward(%x : f32[4, 8], %w : f32[8, 8]) {
  %a = torch.exp(%x)
  %b = torch.sin(%a)
  %c = torch.matmul(%b, %w)
  %d = torch.relu(%c)
  %e = torch.sum(%d, 1)
  %f = torch.dropout(%e, 0.5, True)
  return (%b, %e, %f)
}
)");
  FuseGroups(module.get());
  ASSERT_OK(Verify(*module));
  const auto text = PrintPir(*module);
  ASSERT_OK(text);
  EXPECT_EQ(Count(*text, "cinn_op.fusion"), 2);
  EXPECT_EQ(Count(*text, "cinn_op.yield_store"), 2);
  EXPECT_EQ(Count(*text, "cf.yield"), 2);
  const auto again = ReadPir(*text, "x.pir");
  ASSERT_OK(again);
  EXPECT_OK(CheckEqual(*module, **again, kExact)) << *text;
  EXPECT_THAT(PrintPir(**again), IsOkAndHolds(*text));
}

// A block as in convolutional networks: relu in place, and batch_norm between.
TEST(Fusion, WritesAndBatchNormDoNotSplitGroups) {
  constexpr char kBlock[] = R"(
graph @forward(%x : f32[2, 4, 3, 3], %y : f32[2, 4, 3, 3], %m : f32[4], %v : f32[4]) {
  %a = torch.nn.functional.relu(%y)
  %n = torch.nn.functional.batch_norm(%x, %m, %v)
  %s = .add_(%n, %a)
  %r = torch.nn.functional.relu(%s, inplace = True)
  return (%r,)
}
)";
  const auto fused = [&](const PirOptions& options) {
    const std::unique_ptr<Module> lowered = Lowered(kBlock, options);
    FuseGroups(lowered.get());
    EXPECT_OK(Verify(*lowered));
    return *PrintPir(*lowered);
  };
  const std::string text = fused({.functional = true});
  EXPECT_EQ(Count(text, "cinn_op.fusion"), 1) << text;
  const std::string group = text.substr(text.find("cinn_op.fusion"));
  EXPECT_EQ(Count(group, "pd_op.relu"), 2) << text;
  EXPECT_EQ(Count(group, "pd_op.add"), 1) << text;
  EXPECT_LT(Count(fused({}), "pd_op.relu\" "), 2);
}

}  // namespace
}  // namespace graphnet::pir

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

// spec.md, 004: 32 blocks of 256 threads are 64 * 128 elements. That the numbers are right
// tests/tools/check_loops.py says.
constexpr char kDifference[] = R"(
graph @forward(%x : f32[64, 128], %y : f32[64, 128]) {
  %v = torch.sub(%x, %y)
  return (%v,)
}
)";

TEST(Loops, SerialForm) {
  EXPECT_EQ(PrintLoops(*Lowered(kDifference)),
            R"(inputs (x: float32[64, 128], y: float32[64, 128])
function group_0 (_x: float32[64, 128], _y: float32[64, 128], _subtract: float32[64, 128])
{
  ScheduleBlock(root)
  {
    serial for (i, 0, 64)
    {
      serial for (j, 0, 128)
      {
        ScheduleBlock(subtract)
        {
          i0, i1 = axis.bind(i, j)
          read_buffers(_x[i0(0:64), i1(0:128)], _y[i0(0:64), i1(0:128)])
          write_buffers(_subtract[i0(0:64), i1(0:128)])
          subtract[i0, i1] = (x[i0, i1] - y[i0, i1])
        }
      }
    }
  }
}
outputs (subtract)
)");
}

TEST(Loops, BoundForm) {
  const std::string text = PrintLoops(*Lowered(kDifference), {.bound = true});
  EXPECT_THAT(text, HasSubstr(R"(    thread_bind[blockIdx.x] for (b, 0, 32)
    {
      thread_bind[threadIdx.x] for (t, 0, 256)
      {
        ScheduleBlock(subtract)
        {
          i0, i1 = axis.bind((((b * 256) + t) / 128), (((b * 256) + t) % 128))
)"));
}

TEST(Loops, WhatIsTooMuchIsLeftOut) {
  const auto module =
      Lowered("graph @forward(%x : f32[300]) {\n  %r = torch.exp(%x)\n  return (%r,)\n}\n");
  EXPECT_THAT(PrintLoops(*module, {.bound = true}), HasSubstr("if (((b * 256) + t) < 300)"));
}

TEST(Loops, GroupsEndAtReductionsAndAtOtherOperators) {
  const std::string text = PrintLoops(*Lowered(R"(
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
  EXPECT_THAT(text, HasSubstr("ScheduleBlock(sum__reduce_init)"));
  EXPECT_THAT(text, HasSubstr("serial for (reduce_j, 0, 8)"));
  EXPECT_THAT(text, HasSubstr("sum[i0] = (sum[i0] + exp[i0, i1])"));
}

TEST(Loops, SizesThatAreNotKnownMakeNoGroup) {
  const std::string text = PrintLoops(
      *Lowered("graph @forward(%x : f32) {\n  %r = torch.exp(%x) : f32\n  return (%r,)\n}\n"));
  EXPECT_THAT(text, Not(HasSubstr("function")));
  EXPECT_THAT(text, HasSubstr("call pd_op.exp (x) -> (exp"));
}

TEST(Loops, SizesThatAreSymbols) {
  const auto lowered = Lowered(R"(
symbol S0
graph @forward(%x : f32[S0, 8], %b : f32[8]) {
  %a = torch.add(%x, %b) : f32[S0, 8]
  %s = torch.sum(%a, 0) : f32[8]
  return (%s,)
}
)");
  const std::string serial = PrintLoops(*lowered);
  EXPECT_EQ(Count(serial, "function group_"), 1);
  EXPECT_THAT(serial, HasSubstr("_x: float32[S0, 8], _b: float32[8]"));
  EXPECT_THAT(serial, HasSubstr("serial for (i, 0, S0)\n"));
  EXPECT_THAT(serial, HasSubstr("add[i0, i1] = (x[i0, i1] + b[i1])"));
  EXPECT_THAT(serial, HasSubstr("serial for (reduce_i, 0, S0)\n"));
  // As many blocks as hold all, of which the last may have threads to spare.
  const std::string bound = PrintLoops(*lowered, {.bound = true});
  EXPECT_THAT(bound, HasSubstr("thread_bind[blockIdx.x] for (b, 0, (((S0 * 8) + 255) / 256))\n"));
  EXPECT_THAT(bound, HasSubstr("if (((b * 256) + t) < (S0 * 8))\n"));
  EXPECT_THAT(bound, HasSubstr("i0, i1 = axis.bind((((b * 256) + t) / 8), (((b * 256) + t) % 8))"));
  FuseGroups(lowered.get());
  const std::string fused = *PrintPir(*lowered);
  EXPECT_EQ(Count(fused, "cinn_op.fusion"), 1);
  EXPECT_THAT(fused, HasSubstr("shape[S0, 8]"));
}

// Both paths from %a to %d are one group, but for what goes around by the product.
TEST(Groups, NoValueGoesAroundAGroup) {
  const std::string text = PrintLoops(*Lowered(R"(
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
  EXPECT_LT(text.find("ScheduleBlock(exp)"), text.find("call pd_op.matmul"));
  EXPECT_LT(text.find("call pd_op.matmul"), text.find("ScheduleBlock(tanh)"));
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

// As convolutional networks have it: relu in place, and batch_norm between.
TEST(Fusion, WritesAndBatchNormDoNotPartGroups) {
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

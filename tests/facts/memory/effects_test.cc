#include "graphnet/facts/memory/effects.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "graphnet/ir/text/parser.h"

namespace graphnet {
namespace {

class EffectsTest : public testing::Test {
 protected:
  // Returns the effects of node %y in a graph with these lines.
  std::string Effect(absl::string_view lines) {
    auto module = ParseModule(
        absl::StrCat("graph @forward(%x, %w, %b) {\n  ", lines, "\n  return (%y,)\n}\n"), "test");
    EXPECT_TRUE(module.ok()) << module.status();
    if (!module.ok()) return "";
    return DescribeEffects(Effects(**module).Of(*(*module)->main()->FindNode("y")));
  }
};

TEST_F(EffectsTest, OperatorsThatOnlyCompute) {
  EXPECT_EQ(Effect("%y = torch.conv2d(%x, %w, %b)"), "pure");
  EXPECT_EQ(Effect("%y = operator.matmul(%x, %w)"), "pure");
  EXPECT_EQ(Effect("%y = torch.nn.functional.interpolate(%x, scale_factor = 2)"), "pure");
  EXPECT_EQ(Effect("%y = torch.tensor([1, 2])"), "pure");
}

TEST_F(EffectsTest, Views) {
  EXPECT_EQ(Effect("%y = .view(%x, -1)"), "pure, aliases %x");
  EXPECT_EQ(Effect("%y = operator.getitem(%x, 0)"), "pure, aliases %x");
  EXPECT_EQ(Effect("%y = .chunk(%x, 2)"), "pure, aliases %x");
  // No schema declares this alias.
  EXPECT_EQ(Effect("%y = torch.einsum(\"ij->ji\", %x)"), "pure, aliases %x");
  EXPECT_EQ(Effect("%y = .type_as(%x, %w)"), "pure, aliases %x %w");
}

TEST_F(EffectsTest, InPlace) {
  EXPECT_EQ(Effect("%y = .add_(%x, %w)"), "writes to %x, aliases %x");
  EXPECT_EQ(Effect("%y = operator.iadd(%x, %w)"), "writes to %x, aliases %x");
  EXPECT_EQ(Effect("%y = operator.setitem(%x, 0, %w)"), "writes to %x, aliases %x");
  EXPECT_EQ(Effect("%y = torch.nn.functional.relu(%x, inplace = True)"),
            "writes to %x, aliases %x");
  // A number cannot be written to.
  EXPECT_EQ(Effect("%n = .size(%x, 0)\n  %y = operator.iadd(%n, 1)"), "pure, aliases %n");
}

TEST_F(EffectsTest, Random) {
  EXPECT_EQ(Effect("%y = torch.rand([2])"), "random");
  EXPECT_EQ(Effect("%y = torch.nn.functional.dropout(%x, 0.1, True, False)"), "random, aliases %x");
  EXPECT_EQ(Effect("%y = torch.nn.functional.dropout(%x, 0.1, False, False)"), "pure, aliases %x");
  // Attention without dropout draws no random numbers.
  EXPECT_EQ(Effect("%y = aten.scaled_dot_product_attention.default(%x, %w, %b)"), "pure");
  EXPECT_EQ(Effect("%y = torch.nn.functional.scaled_dot_product_attention(%x, %w, %b, None, 0.0)"),
            "pure");
  EXPECT_EQ(Effect("%y = aten.scaled_dot_product_attention.default(%x, %w, %b, None, 0.5)"),
            "random");
}

TEST_F(EffectsTest, RunningStatisticsAreWrittenInTraining) {
  const std::string call = "%y = torch.nn.functional.batch_norm(%x, %w, %b, None, None, ";
  EXPECT_EQ(Effect(call + "False)"), "pure");
  EXPECT_EQ(Effect(call + "True)"), "writes to %w %b");
}

TEST_F(EffectsTest, Statements) {
  EXPECT_EQ(Effect("%y = torch._C._set_grad_enabled(False)"), "statement");
  EXPECT_EQ(Effect("%y = torch._check(%x)"), "statement");
  EXPECT_EQ(Effect("%y = torch.amp.autocast_mode._enter_autocast(\"cuda\", None, True, None)"),
            "statement");
}

TEST_F(EffectsTest, UnknownTargetsMayDoAnything) {
  EXPECT_EQ(Effect("%y = mylib.frobnicate(%x)"), "unknown, aliases %x");
  EXPECT_EQ(Effect("%y = torch.conv2d(%x)"), "unknown, aliases %x");  // the call would fail
}

TEST_F(EffectsTest, BodiesCount) {
  const auto module = ParseModule(
      "graph @forward(%p, %x) {\n  %y = torch.cond(%p, @a, @b, [%x])\n  return (%y,)\n}\n"
      "graph @a(%v) {\n  %r = torch.rand_like(%v)\n  return (%r,)\n}\n"
      "graph @b(%v) {\n  %r = torch.relu(%v)\n  return (%r,)\n}\n",
      "test");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(DescribeEffects(Effects(**module).Of(*(*module)->main()->FindNode("y"))),
            "random, aliases %p %x");
}

TEST_F(EffectsTest, ABodyIsLookedAtOnceHoweverManyCallsItHas) {
  // There are 5,000 calls of a body of 5,000 nodes. Visiting it for each call would take 25 million
  // steps.
  std::string text = "graph @forward(%p, %x) {\n";
  for (int i = 0; i < 5000; ++i)
    absl::StrAppend(&text, "  %y", i, " = torch.cond(%p, @a, @a, [%x])\n");
  absl::StrAppend(&text, "  return (%y4999,)\n}\ngraph @a(%v) {\n");
  for (int i = 0; i < 5000; ++i) absl::StrAppend(&text, "  %r", i, " = torch.relu(%v)\n");
  absl::StrAppend(&text, "  %r = torch.rand_like(%v)\n  return (%r,)\n}\n");
  const auto module = ParseModule(text, "test");
  ASSERT_TRUE(module.ok()) << module.status();
  const Effects effects(**module);
  for (const char* name : {"y0", "y4999"}) {
    EXPECT_EQ(DescribeEffects(effects.Of(*(*module)->main()->FindNode(name))),
              "random, aliases %p %x");
  }
}

}  // namespace
}  // namespace graphnet

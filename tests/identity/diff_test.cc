#include "graphnet/identity/diff.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet {
namespace {

std::string DiffOf(const std::string& a, const std::string& b, const DiffOptions& options = {}) {
  const auto x = Parse(a), y = Parse(b);
  return PrintDiff(DiffModules(*x, *y, options));
}

constexpr char kBlock[] =
    "attribute w1 : f32[8, 8]\nattribute w2 : f32[8, 8]\n"
    "graph @forward(%x) {\n"
    "  %w1 = get_attr w1\n"
    "  %w2 = get_attr w2\n"
    "  %a = aten.linear.default(%x, %w1)\n"
    "  %r = aten.relu.default(%a)\n"
    "  %b = aten.linear.default(%r, %w2)\n"
    "  %y = aten.add.Tensor(%b, %x)\n"
    "  return (%y,)\n"
    "}\n";

TEST(DiffTest, NamesAndOrderOfIndependentNodesAreNone) {
  EXPECT_EQ(DiffOf(kBlock,
                   "attribute p : f32[8, 8]\nattribute q : f32[8, 8]\n"
                   "graph @forward(%input) {\n"
                   "  %second = get_attr q\n"
                   "  %first = get_attr p\n"
                   "  %1 = aten.linear.default(%input, %first)\n"
                   "  %2 = aten.relu.default(%1)\n"
                   "  %3 = aten.linear.default(%2, %second)\n"
                   "  %4 = aten.add.Tensor(%3, %input)\n"
                   "  return (%4,)\n"
                   "}\n"),
            "");
}

TEST(DiffTest, BranchesInAnotherOrder) {
  const std::string head = "graph @forward(%x) {\n";
  const std::string a = "  %a = aten.relu.default(%x)\n", b = "  %b = aten.exp.default(%x)\n";
  const std::string tail = "  %y = aten.add.Tensor(%a, %b)\n  return (%y,)\n}\n";
  EXPECT_EQ(DiffOf(head + a + b + tail, head + b + a + tail), "");
}

TEST(DiffTest, RemovedNodeIsNamedAndWhoTookIt) {
  EXPECT_EQ(DiffOf(kBlock,
                   "attribute w1 : f32[8, 8]\nattribute w2 : f32[8, 8]\n"
                   "graph @forward(%x) {\n"
                   "  %w1 = get_attr w1\n"
                   "  %w2 = get_attr w2\n"
                   "  %a = aten.linear.default(%x, %w1)\n"
                   "  %b = aten.linear.default(%a, %w2)\n"
                   "  %y = aten.add.Tensor(%b, %x)\n"
                   "  return (%y,)\n"
                   "}\n"),
            "- %r = aten.relu.default(%a)\n"
            "    %b takes %a instead\n");
}

TEST(DiffTest, AddedNode) {
  EXPECT_EQ(DiffOf("graph @forward(%x) {\n  %a = aten.exp.default(%x)\n  return (%a,)\n}\n",
                   "graph @forward(%x) {\n"
                   "  %a = aten.exp.default(%x)\n"
                   "  %n = aten.neg.default(%a)\n"
                   "  return (%n,)\n"
                   "}\n"),
            "+ %n = aten.neg.default(%a)\n"
            "    %output took %a before\n");
}

TEST(DiffTest, ChangedArgumentHasItsName) {
  const std::string before =
      "attribute w : f32[4, 4, 3, 3]\n"
      "graph @forward(%x) {\n  %w = get_attr w\n"
      "  %c = aten.conv2d.default(%x, %w, None, [1, 1], [1, 1]) at \"net.py\":7\n"
      "  %r = aten.relu.default(%c)\n  return (%r,)\n}\n";
  std::string after = before;
  after.replace(after.find(", [1, 1])"), 9, ", [0, 0])");
  EXPECT_EQ(DiffOf(before, after),
            "~ %c = aten.conv2d.default(%x, %w, None, [1, 1], [1, 1])  at net.py:7\n"
            "    argument 4 (padding): [1, 1] became [0, 0]\n");
}

TEST(DiffTest, AnotherOperatorOnTheSameValues) {
  std::string after = kBlock;
  after.replace(after.find("relu"), 4, "gelu");
  EXPECT_EQ(DiffOf(kBlock, after),
            "~ %r = aten.relu.default(%a)\n"
            "    target: aten.relu.default became aten.gelu.default\n");
}

TEST(DiffTest, SwappedOperands) {
  EXPECT_EQ(DiffOf("graph @forward(%x, %y) {\n  %s = aten.sub.Tensor(%x, %y)\n  return %s\n}\n",
                   "graph @forward(%x, %y) {\n  %s = aten.sub.Tensor(%y, %x)\n  return %s\n}\n"),
            "~ %s = aten.sub.Tensor(%x, %y)\n"
            "    argument 0 (input): %x became %y\n"
            "    argument 1 (other): %y became %x\n");
}

TEST(DiffTest, WhichAttributeIsReadTwiceCounts) {
  const std::string body =
      "  %a = aten.linear.default(%x, %u)\n  %b = aten.linear.default(%a, %v)\n  return (%b,)\n}\n";
  const std::string head =
      "attribute w1 : f32[8, 8]\nattribute w2 : f32[8, 8]\ngraph @forward(%x) {\n";
  const std::string shared = head + "  %u = get_attr w1\n  %v = get_attr w1\n" + body;
  const std::string apart = head + "  %u = get_attr w2\n  %v = get_attr w1\n" + body;
  EXPECT_EQ(DiffOf(apart, apart), "");
  EXPECT_NE(DiffOf(shared, apart), "");
  EXPECT_NE(DiffOf(apart, shared), "");
}

TEST(DiffTest, BodiesAreCompared) {
  const auto program = [](const std::string& target) {
    return "graph @forward(%p, %x) {\n"
           "  %y = torch.cond(%p, @yes, @no, (%x,))\n"
           "  return (%y,)\n"
           "}\n"
           "graph @yes(%x) {\n  %a = aten.exp.default(%x)\n  return %a\n}\n"
           "graph @no(%x) {\n  %b = aten." +
           target + ".default(%x)\n  return %b\n}\n";
  };
  EXPECT_EQ(DiffOf(program("neg"), program("neg")), "");
  EXPECT_EQ(DiffOf(program("neg"), program("relu")),
            "~ %b = aten.neg.default(%x)  in @no\n"
            "    target: aten.neg.default became aten.relu.default\n");
}

TEST(DiffTest, OrderOfEffectsCounts) {
  const auto program = [](const std::string& first, const std::string& second) {
    return "graph @forward(%x) {\n" + first + second + "  return (%x,)\n}\n";
  };
  const std::string add = "  %a = aten.add_.Tensor(%x, 1)\n";
  const std::string mul = "  %m = aten.mul_.Tensor(%x, 2)\n";
  EXPECT_EQ(DiffOf(program(add, mul), program(add, mul)), "");
  EXPECT_NE(DiffOf(program(add, mul), program(mul, add)), "");
}

// Writes that differ only in their destination must not be paired with each other.
TEST(DiffTest, AModuleIsItself) {
  std::string text =
      "graph @forward(%v0 : f32[3, 3]) {\n  %v1 = aten.view.default(%v0, [9])\n"
      "  %v2 = aten.split.Tensor(%v1, 1)\n"
      "  %v3 = torch.ops.higher_order.wrap(@b, %v1, k = @b)\n"
      "  %v4 = aten.split.Tensor(%v3, 1)\n"
      "  %v5 = torch.ops.higher_order.wrap(@b, %v0, k = @b)\n";
  int made = 5;
  for (const int written :
       {4,  2,  4,  1,  0,  1, 4, 9, 2,  10, 4,  15, 10, 5,  0,  16, 12, 8,  4,  0,
        22, 19, 16, 13, 10, 7, 4, 1, 32, 30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10})
    absl::StrAppend(&text, "  %v", ++made, " = aten.add_.Tensor(%v", written, ", 1)\n");
  absl::StrAppend(&text, "  return (%v", made, ", %v23)\n}\n",
                  "graph @b(%x) {\n  %y = torch.relu(%x)\n  return %y\n}\n");
  const auto a = Parse(text), b = Parse(text);
  const GraphDiff diff = DiffModules(*a, *b);
  EXPECT_TRUE(diff.empty());
  EXPECT_EQ(diff.pairs.size(), a->num_nodes());
}

TEST(DiffTest, MetasOnlyOnRequest) {
  const std::string a =
      "graph @forward(%x : f32[2]) {\n  %y = aten.exp.default(%x)\n  return %y\n}\n";
  const std::string b =
      "graph @forward(%x : f32[3]) {\n  %y = aten.exp.default(%x)\n  return %y\n}\n";
  EXPECT_EQ(DiffOf(a, b), "");
  EXPECT_NE(DiffOf(a, b, {.metas = true}), "");
}

TEST(DiffTest, InputsAreAddedAndRemoved) {
  EXPECT_EQ(DiffOf("graph @forward(%x) {\n  %y = aten.exp.default(%x)\n  return %y\n}\n",
                   "graph @forward(%u, %x) {\n  %y = aten.exp.default(%x)\n  return %y\n}\n"),
            "+ %u = placeholder u\n");
}

}  // namespace
}  // namespace graphnet

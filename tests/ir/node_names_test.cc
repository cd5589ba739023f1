// The names that nodes get.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/unchecked_builder.h"
#include "gtest/gtest.h"
#include "tests/ir/graph_fixture.h"

namespace graphnet {
namespace {

TEST_F(OpenGraphTest, NamesComeFromTargets) {
  const std::pair<const char*, const char*> cases[] = {
      {"torch.relu", "relu"},
      {"torch.nn.functional.relu", "relu_1"},
      {"operator.add", "add"},
      {"aten.conv2d.default", "conv2d"},
      {"torch.ops.aten.mm.default", "mm"},
      {"torch.conv2d", "conv2d_1"},
      {"getattr", "getattr"},
      {"torch._C._nn.gelu", "gelu"},
      {"ends.", "_unnamed"},
      {"a-b", "a_b"},
  };
  for (const auto& [target, name] : cases) {
    EXPECT_EQ(graph_->CallFunction(target, {})->name(), name) << target;
  }
}

// The names are those that torch.fx's _Namespace (2.13) makes from these candidates in this order.
TEST_F(OpenGraphTest, NamesGetSuffixesAsInFx) {
  const std::pair<const char*, const char*> cases[] = {
      {"relu", "relu"},     {"relu", "relu_1"}, {"relu", "relu_2"},   {"relu_1", "relu_3"},
      {"relu_7", "relu_7"}, {"relu", "relu_8"}, {"relu_7", "relu_9"}, {"add_3", "add_3"},
      {"add", "add"},       {"add", "add_4"},   {"x.1", "x_1"},       {"x.1", "x_2"},
      {"x", "x"},           {"x", "x_3"},       {"a--b", "a_b"},      {"a.-b", "a_b_1"},
      {"", "_unnamed"},     {"", "_unnamed_1"}, {"2", "_2"},          {"2x", "_2x"},
      {"\xc3\xa9", "_"},    {"_", "__1"},       {"a_", "a_"},         {"a_", "a__1"},
      {"a_1_2", "a_1_2"},   {"a_1_2", "a_1_3"}, {"__x__", "__x__"},   {"__x__", "__x___1"},
      {"v_99", "v_99"},     {"v", "v"},         {"v", "v_100"},
  };
  for (const auto& [candidate, name] : cases) {
    Node* node = UncheckedBuilder(graph_).CreateNode(Op::kCallFunction, "f", {}, {},
                                                     graph_->UniqueName(candidate));
    EXPECT_EQ(node->name(), name) << candidate;
  }
}

TEST_F(OpenGraphTest, WeirdNamesAreUniqueToo) {
  const std::string candidates[] = {"",
                                    "_",
                                    "__",
                                    "1",
                                    "_1",
                                    "_1_1",
                                    "a",
                                    "a_",
                                    "a__",
                                    "a_1",
                                    "a_01",
                                    "a_1_",
                                    "a_999999999",
                                    "a_99999999",
                                    "a_99999999999999999999",
                                    "a_2147483647",
                                    std::string(1, '\0'),
                                    "\n",
                                    "\xff",
                                    "lambda",
                                    "None",
                                    "x y",
                                    std::string(70000, 'n')};
  for (int round = 0; round < 4; ++round) {
    for (const std::string& candidate : candidates) {
      if (candidate.size() > 65000) continue;
      const Node* node = Make(candidate);
      EXPECT_EQ(graph_->FindNode(node->name()), node);
    }
  }
  EXPECT_EQ(graph_->UniqueName(candidates[std::size(candidates) - 1]).size(), 70000u);
}

TEST_F(OpenGraphTest, UniqueNameTakesNothing) {
  EXPECT_EQ(graph_->UniqueName("relu"), "relu");
  EXPECT_EQ(graph_->UniqueName("relu"), "relu");
  Make("relu");
  EXPECT_EQ(graph_->UniqueName("relu"), "relu_1");
  EXPECT_EQ(Make("relu_1")->name(), "relu_1");
}

// Takes linear time for 10^5 equal names and 10^5 that have a suffix already.
TEST_F(OpenGraphTest, ManyEqualNames) {
  constexpr int kNodes = 100000;
  for (int i = 0; i < kNodes; ++i) Make("relu");
  EXPECT_EQ(graph_->last()->name(), absl::StrCat("relu_", kNodes - 1));
  for (int i = 0; i < kNodes; ++i) Make("relu_1");
  EXPECT_EQ(graph_->last()->name(), absl::StrCat("relu_", 2 * kNodes - 1));
}

// Importers choose names themselves, and may use for a moment a name that is still taken.
TEST_F(OpenGraphTest, SetUniqueNameMaySwapNames) {
  Node* a = Make("a");
  Node* b = Make("b");
  EXPECT_EQ(graph_->FindNode("a"), a);
  UncheckedBuilder(graph_).SetName(a, "b");
  UncheckedBuilder(graph_).SetName(b, "a");
  EXPECT_EQ(graph_->FindNode("a"), b);
  EXPECT_EQ(graph_->FindNode("b"), a);
  EXPECT_EQ(graph_->UniqueName("b"), "b_1");
  // The name is taken for a moment and then left to its owner.
  UncheckedBuilder(graph_).SetName(a, "a");
  UncheckedBuilder(graph_).SetName(a, "c");
  EXPECT_EQ(graph_->FindNode("a"), b);
  EXPECT_EQ(graph_->FindNode("c"), a);
  EXPECT_EQ(graph_->FindNode("b"), nullptr);
  EXPECT_EQ(graph_->UniqueName("a"), "a_1");
}

TEST_F(OpenGraphTest, NodesMayBeNamedLater) {
  std::vector<Node*> nodes;
  EXPECT_EQ(graph_->FindNode(""), nullptr);
  for (int i = 0; i < 10; ++i) {
    nodes.push_back(UncheckedBuilder(graph_).CreateNode(Op::kCallFunction, "f", {}, {}, {}));
  }
  EXPECT_EQ(graph_->FindNode(""), nullptr);
  for (int i = 0; i < 10; ++i) UncheckedBuilder(graph_).SetName(nodes[i], absl::StrCat("n", i));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(graph_->FindNode(absl::StrCat("n", i)), nodes[i]);
  EXPECT_EQ(graph_->UniqueName("n3"), "n3_1");
}

TEST_F(OpenGraphTest, ErasedNodesAreNotFound) {
  Node* a = Make("a");
  graph_->EraseNode(a);
  EXPECT_EQ(graph_->FindNode("a"), nullptr);  // builds the index
  Node* again = Make("a");
  EXPECT_EQ(graph_->FindNode("a"), again);
  graph_->EraseNode(again);
  EXPECT_EQ(graph_->FindNode("a"), nullptr);
}

}  // namespace
}  // namespace graphnet

#include "graphnet/ir/node_table.h"

#include "graphnet/ir/module.h"
#include "graphnet/ir/unchecked_builder.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

TEST(NodeTableTest, HoldsAValueForEveryNodeOfAModule) {
  Module module;
  Graph* main = module.AddGraph("forward");
  Graph* body = module.AddGraph("body");
  Node* x = main->Placeholder("x");
  Node* y = body->Placeholder("x");
  NodeTable<int> table(module);
  table[x] = 1;
  EXPECT_EQ(table[x], 1);
  EXPECT_EQ(table[y], 0);
  table[y] = 2;
  EXPECT_EQ(table[x], 1);
  EXPECT_EQ(table[y], 2);
}

TEST(NodeTableTest, NodesMadeLaterHaveNoValueUntilItIsSet) {
  Module module;
  Graph* graph = module.AddGraph("forward");
  Node* x = graph->Placeholder("x");
  NodeTable<bool> table(module);
  Node* y = graph->CallFunction("torch.relu", {x});
  Node* z = graph->CallFunction("torch.relu", {y});
  EXPECT_FALSE(static_cast<const NodeTable<bool>&>(table)[z]);
  table[z] = true;
  EXPECT_FALSE(table[y]);
  EXPECT_TRUE(table[z]);
}

TEST(NodeTableTest, AnIndexIsNotGivenAgain) {
  Module module;
  Graph* graph = module.AddGraph("forward");
  Node* x = graph->Placeholder("x");
  Node* y = graph->CallFunction("torch.relu", {x});
  NodeTable<int> table;
  table[y] = 5;
  graph->EraseNode(y);
  Node* z = graph->CallFunction("torch.relu", {x});
  EXPECT_EQ(table[z], 0);
  EXPECT_EQ(module.num_indices(), 3u);
}

TEST(NodeTableTest, EveryWayToMakeANodeGivesItAnIndexOfItsModule) {
  Module module;
  Graph* graph = module.AddGraph("forward");
  Node* x = graph->Placeholder("x");
  graph->CallFunction("torch.relu", {x});
  const auto derived = Module::DeriveFrom(module);
  Graph* piece = derived->AddGraph("piece");
  Node* input = UncheckedBuilder(piece).PlaceholderFor(*x, "x");
  Node* copy = piece->CopyNodeFrom(*graph->last(), [&](Node*) { return input; });
  EXPECT_EQ(input->index(), 0u);
  EXPECT_EQ(copy->index(), 1u);
  const auto clone = module.Clone();
  EXPECT_EQ(clone->main()->last()->index(), 1u);
  EXPECT_EQ(clone->num_indices(), 2u);
}

}  // namespace
}  // namespace graphnet

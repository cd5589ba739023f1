// Which of two nodes comes first, after any insertions and moves.
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/unchecked_builder.h"
#include "gtest/gtest.h"
#include "tests/ir/graph_fixture.h"
#include "tests/ir/ir_test_peer.h"

namespace graphnet {
namespace {

class OrderTest : public OpenGraphTest {
 protected:
  void ExpectOrdered() {
    const Node* before = nullptr;
    for (const Node* node : graph_->nodes()) {
      if (before != nullptr) {
        ASSERT_TRUE(before->IsBefore(node));
        ASSERT_FALSE(node->IsBefore(before));
      }
      before = node;
    }
  }
  Node* MakeNameless() {
    return UncheckedBuilder(graph_).CreateNode(Op::kCallFunction, "f", {}, {}, {});
  }
  // Verify requires names.
  void TearDown() override {
    int i = 0;
    for (Node* node : graph_->nodes())
      UncheckedBuilder(graph_).SetName(node, absl::StrCat("n", i++));
    OpenGraphTest::TearDown();
  }
};

constexpr int kInsertions = 100000;

TEST_F(OrderTest, ManyInsertionsBeforeOneNode) {
  MakeNameless();
  Node* end = MakeNameless();
  graph_->set_insertion_point(end);
  for (int i = 0; i < kInsertions; ++i) MakeNameless();
  ExpectOrdered();
}

TEST_F(OrderTest, ManyInsertionsAfterOneNode) {
  Node* begin = MakeNameless();
  MakeNameless();
  for (int i = 0; i < kInsertions; ++i) {
    graph_->set_insertion_point(begin->next());
    MakeNameless();
  }
  ExpectOrdered();
}

TEST_F(OrderTest, ManyInsertionsAtTheFront) {
  for (int i = 0; i < kInsertions; ++i) {
    graph_->set_insertion_point(graph_->first());
    MakeNameless();
  }
  ExpectOrdered();
  // Appended nodes still come last.
  graph_->set_insertion_point(nullptr);
  for (int i = 0; i < 10; ++i) MakeNameless();
  ExpectOrdered();
}

TEST_F(OrderTest, ManyInsertionsAmongMany) {
  for (int i = 0; i < kInsertions; ++i) MakeNameless();
  // Inserts around the middle, at the two ends of the inserted nodes in turn.
  Node* left = graph_->first();
  for (int i = 0; i < kInsertions / 2; ++i) left = left->next();
  for (int i = 0; i < kInsertions; ++i) {
    graph_->set_insertion_point(i % 2 == 0 ? left : left->next());
    Node* made = MakeNameless();
    if (i % 3 == 0) left = made;
  }
  ExpectOrdered();
}

TEST_F(OrderTest, ManyMoves) {
  constexpr int kNodes = 1000;
  for (int i = 0; i < kNodes; ++i) MakeNameless();
  Node* pivot = graph_->first()->next();
  for (int i = 0; i < kInsertions; ++i) graph_->MoveBefore(graph_->last(), pivot);
  ExpectOrdered();
  for (int i = 0; i < kInsertions; ++i) graph_->MoveBefore(graph_->last(), graph_->first());
  ExpectOrdered();
  for (int i = 0; i < kInsertions; ++i) graph_->MoveBefore(graph_->first(), nullptr);
  ExpectOrdered();
}

// The keys are packed as tightly or as high as possible.
TEST_F(OrderTest, InsertsBetweenAnyKeys) {
  const struct {
    const char* what;
    uint64_t first, step;
  } cases[] = {
      {"from 1", 1, 1},
      {"at a power of two", (uint64_t{1} << 40) - 50, 1},
      {"below 2^63", (uint64_t{1} << 63) - 101, 1},
      {"two apart", 1000, 2},
      {"as appended", uint64_t{1} << 32, uint64_t{1} << 32},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    for (Node* node : graph_->nodes()) graph_->EraseNode(node);
    graph_->set_insertion_point(nullptr);
    for (int i = 0; i < 100; ++i) {
      IrTestPeer::order(MakeNameless()) = c.first + c.step * static_cast<uint64_t>(i);
    }
    std::vector<Node*> nodes;
    for (Node* node : graph_->nodes()) nodes.push_back(node);
    for (Node* node : nodes) {
      graph_->set_insertion_point(node);
      for (int i = 0; i < 50; ++i) MakeNameless();
      ExpectOrdered();
    }
  }
}

}  // namespace
}  // namespace graphnet

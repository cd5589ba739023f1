#include "graphnet/ir/graph.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/unchecked_builder.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/ir/graph_fixture.h"

namespace graphnet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(GraphTest, BuildsWithTheVerbsOfFx) {
  module_.AddAttribute({.name = "fc.weight"});
  Node* x = graph_->Placeholder("x");
  Node* w = graph_->GetAttr("fc.weight");
  Node* y = graph_->CallFunction("torch.nn.functional.linear", {x, w}, {{"bias", Argument()}});
  Node* z = graph_->CallMethod("view", {y, -1, 10});
  Node* d = graph_->CallModule("dropout", {z});
  EXPECT_EQ(graph_->output(), nullptr);
  Node* output = graph_->Output(Argument::Tuple({d}));
  EXPECT_THAT(Names(), ElementsAre("x", "fc_weight", "linear", "view", "dropout", "output"));
  EXPECT_EQ(graph_->output(), output);
  EXPECT_EQ(graph_->first(), x);
  EXPECT_EQ(graph_->last(), output);
  EXPECT_THAT(graph_->placeholders(), ElementsAre(x));
  EXPECT_EQ(graph_->module(), &module_);
  EXPECT_EQ(graph_->name(), "forward");
  EXPECT_EQ(y->args()[1].node(), w);
  EXPECT_TRUE(y->kwarg("bias")->is_none());
}

TEST_F(GraphTest, AnEmptyGraphHasNothing) {
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_EQ(graph_->first(), nullptr);
  EXPECT_EQ(graph_->last(), nullptr);
  EXPECT_EQ(graph_->output(), nullptr);
  EXPECT_EQ(graph_->FindNode("x"), nullptr);
  EXPECT_EQ(graph_->EliminateDeadCode([](const Node&) { return true; }), 0u);
  graph_->Output(Argument::None());
}

// --- The insertion point ------------------------------------------------------

TEST_F(OpenGraphTest, InsertionGuardRestores) {
  Node* a = Make("a");
  Node* b = Make("b");
  {
    InsertionGuard before_b(graph_, b);
    Make("c");
    {
      InsertionGuard before_a(graph_, a);
      Make("d");
    }
    Make("e");
    EXPECT_EQ(graph_->insertion_point(), b);
  }
  Make("z");
  EXPECT_EQ(graph_->insertion_point(), nullptr);
  EXPECT_THAT(Names(), ElementsAre("d", "a", "c", "e", "b", "z"));
}

TEST_F(OpenGraphTest, ErasingTheInsertionPointMovesItOn) {
  Node* a = Make("a");
  Node* b = Make("b");
  graph_->set_insertion_point(a);
  graph_->EraseNode(a);
  EXPECT_EQ(graph_->insertion_point(), b);
  Make("c");
  graph_->EraseNode(b);
  EXPECT_EQ(graph_->insertion_point(), nullptr);
  Make("d");
  EXPECT_THAT(Names(), ElementsAre("c", "d"));
}

// The point that a guard saved may be erased before the guard restores it.
TEST_F(OpenGraphTest, InsertionGuardSurvivesErasureOfTheSavedPoint) {
  Node* a = Make("a");
  Node* b = Make("b");
  Node* c = Make("c");
  graph_->set_insertion_point(a);
  {
    InsertionGuard guard(graph_, nullptr);
    graph_->EraseNode(b);
    graph_->EraseNode(a);
    Make("d");
  }
  EXPECT_EQ(graph_->insertion_point(), c);
  Make("e");
  {
    InsertionGuard guard(graph_, b);  // b is erased.
    Make("f");
  }
  EXPECT_THAT(Names(), ElementsAre("e", "f", "c", "d"));
}

TEST_F(OpenGraphTest, TheInsertionPointGoesAlongWithItsNode) {
  Make("a");
  Node* b = Make("b");
  Make("c");
  graph_->set_insertion_point(b);
  graph_->MoveBefore(b, nullptr);
  Make("d");
  EXPECT_THAT(Names(), ElementsAre("a", "c", "d", "b"));
  graph_->MoveBefore(b, graph_->first());
  Make("e");
  EXPECT_THAT(Names(), ElementsAre("e", "b", "a", "c", "d"));
}

// --- Moving and erasing -------------------------------------------------------

TEST_F(OpenGraphTest, MoveBefore) {
  Node* a = Make("a");
  Node* b = Make("b");
  Node* c = Make("c");
  Node* d = Make("d");
  const struct {
    Node *node, *before;
    std::vector<std::string> expected;
  } steps[] = {
      {a, a, {"a", "b", "c", "d"}},        // to where it is
      {a, b, {"a", "b", "c", "d"}},        // likewise
      {d, nullptr, {"a", "b", "c", "d"}},  // likewise
      {a, c, {"b", "a", "c", "d"}},        // forwards
      {d, b, {"d", "b", "a", "c"}},        // to the front
      {d, nullptr, {"b", "a", "c", "d"}},  // to the end
      {c, a, {"b", "c", "a", "d"}},        // backwards
  };
  for (const auto& step : steps) {
    graph_->MoveBefore(step.node, step.before);
    EXPECT_EQ(Names(), step.expected);
    EXPECT_EQ(a->IsBefore(b), std::find(step.expected.begin(), step.expected.end(), "a") <
                                  std::find(step.expected.begin(), step.expected.end(), "b"));
  }
}

TEST_F(OpenGraphTest, EraseNodeFreesNameAndOperands) {
  Node* x = graph_->Placeholder("x");
  Node* f = graph_->CallFunction("f", {x, Argument::List({x})}, {{"k", x}});
  EXPECT_EQ(graph_->FindNode("f"), f);
  graph_->EraseNode(f);
  EXPECT_EQ(graph_->FindNode("f"), nullptr);
  EXPECT_FALSE(x->has_uses());
  EXPECT_EQ(graph_->CallFunction("f", {})->name(), "f");
  EXPECT_THAT(Names(), ElementsAre("x", "f"));
}

// A walk erases some nodes, given by index, when it is at a node. It must see all other nodes in
// order, and no erased one.
TEST_F(OpenGraphTest, EraseWhileIteratingIsSafe) {
  constexpr int kNodes = 8;
  const struct {
    const char* what;
    std::vector<std::vector<int>> erasures;  // Indexed by the node at which the walk is.
    std::vector<int> seen;
  } cases[] = {
      {"nothing", {}, {0, 1, 2, 3, 4, 5, 6, 7}},
      {"the current one", {{}, {1}, {2}, {}, {}, {5}}, {0, 1, 2, 3, 4, 5, 6, 7}},
      {"each", {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}, {0, 1, 2, 3, 4, 5, 6, 7}},
      {"the first", {{0}}, {0, 1, 2, 3, 4, 5, 6, 7}},
      {"the last", {{7}}, {0, 1, 2, 3, 4, 5, 6}},
      {"the last on itself", {{}, {}, {}, {}, {}, {}, {}, {7}}, {0, 1, 2, 3, 4, 5, 6, 7}},
      {"the next", {{}, {2}, {}, {4}}, {0, 1, 3, 5, 6, 7}},
      {"the one before", {{}, {0}, {1}, {2}}, {0, 1, 2, 3, 4, 5, 6, 7}},
      {"current and next", {{}, {1, 2}, {}, {}, {5, 4}}, {0, 1, 3, 4, 6, 7}},
      {"next and current", {{}, {2, 1}}, {0, 1, 3, 4, 5, 6, 7}},
      {"a run after", {{}, {2, 3, 4, 5}}, {0, 1, 6, 7}},
      {"a run after, from behind", {{}, {5, 4, 3, 2}}, {0, 1, 6, 7}},
      {"a run around", {{}, {}, {}, {1, 2, 3, 4, 5}}, {0, 1, 2, 3, 6, 7}},
      {"a run around, from the middle", {{}, {}, {}, {3, 4, 2, 5, 1}}, {0, 1, 2, 3, 6, 7}},
      {"all that follows", {{}, {}, {3, 4, 5, 6, 7}}, {0, 1, 2}},
      {"all", {{}, {}, {0, 1, 2, 3, 4, 5, 6, 7}}, {0, 1, 2}},
      {"all, from behind", {{}, {}, {7, 6, 5, 4, 3, 2, 1, 0}}, {0, 1, 2}},
      {"all but the ends", {{6, 1, 5, 2, 4, 3}}, {0, 7}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    std::vector<Node*> nodes;
    for (int i = 0; i < kNodes; ++i) nodes.push_back(graph_->CallFunction("f", {i}));
    std::vector<int> seen;
    for (Node* node : graph_->nodes()) {
      EXPECT_FALSE(node->is_erased());
      const auto i = static_cast<size_t>(node->args()[0].integer());
      seen.push_back(static_cast<int>(i));
      if (i >= c.erasures.size()) continue;
      for (int erased : c.erasures[i]) graph_->EraseNode(nodes[erased]);
    }
    EXPECT_EQ(seen, c.seen);
    for (Node* node : graph_->nodes()) graph_->EraseNode(node);
    EXPECT_EQ(graph_->num_nodes(), 0u);
    EXPECT_EQ(graph_->first(), nullptr);
    EXPECT_EQ(graph_->last(), nullptr);
  }
}

TEST_F(OpenGraphTest, NodesMadeWhileIteratingAreSeenIfTheyComeLater) {
  Node* a = Make("a");
  Node* b = Make("b");
  std::vector<std::string> seen;
  for (Node* node : graph_->nodes()) {
    seen.emplace_back(node->name());
    if (node == a) {
      InsertionGuard guard(graph_, b);
      Make("between");
    } else if (node == b) {
      InsertionGuard guard(graph_, a);
      Make("before");
      graph_->set_insertion_point(nullptr);
      Make("after");
    }
  }
  EXPECT_THAT(seen, ElementsAre("a", "between", "b", "after"));
}

TEST_F(OpenGraphTest, ErasingMillionsWhileIteratingIsLinear) {
  for (int i = 0; i < 300000; ++i)
    UncheckedBuilder(graph_).CreateNode(Op::kCallFunction, "f", {}, {}, {});
  // Erases from the end while an iterator is at the first node.
  NodeIterator it = graph_->nodes().begin();
  for (Node* node = graph_->last(); node != graph_->first();) {
    Node* before = node->prev();
    graph_->EraseNode(node);
    node = before;
  }
  ++it;
  EXPECT_EQ(*it, nullptr);
  graph_->EraseNode(graph_->first());
}

// --- CallLike -----------------------------------------------------------------------

TEST_F(GraphTest, CallLikeCopiesTheDescriptionOfItsOrigin) {
  Node* x = graph_->Placeholder("x");
  Node* f = graph_->CallFunction("f", {x}, {}, "value");
  f->set_location({"m.py", 3, 5});
  f->set_module_path("layer1.0");
  f->set_annotation("torch.Tensor");
  TensorMeta meta;
  meta.dtype = DType::kFloat32;
  f->set_meta(module_.InternValueMeta(meta));
  graph_->Output(f);
  Node* g = graph_->CallLike(*f, "torch.g", {x}, {{"k", 1}});
  EXPECT_EQ(PrintNode(*g), "%value_1 = torch.g(%x, k = 1) : f32 as torch.Tensor");
  EXPECT_EQ(g->location().file, "m.py");
  EXPECT_EQ(g->location().line, 3u);
  EXPECT_EQ(g->location().column, 5u);
  EXPECT_EQ(g->module_path(), "layer1.0");
  EXPECT_EQ(graph_->insertion_point(), nullptr);
  EXPECT_EQ(PrintNode(*graph_->CallLike(*x, ".view", {x, -1})), "%x_1 = .view(%x, -1)");
}

TEST_F(GraphTest, CallLikeGoesBeforeItsOriginOrRightBehind) {
  Node* x = graph_->Placeholder("x");
  Node* y = graph_->Placeholder("y");
  Node* f = graph_->CallFunction("f", {x});
  Node* output = graph_->Output(f);
  InsertionGuard guard(graph_, f);
  EXPECT_EQ(graph_->CallLike(*f, "before", {x})->next(), f);
  EXPECT_EQ(graph_->CallLike(*f, "behind", {f})->prev(), f);
  EXPECT_EQ(graph_->CallLike(*f, "behind", {}, {{"k", Argument::List({1, f})}})->prev(), f);
  // A call never goes between placeholders.
  EXPECT_EQ(graph_->CallLike(*x, "behind", {x})->prev(), y);
  EXPECT_EQ(graph_->CallLike(*y, "behind", {})->prev(), y);
  EXPECT_EQ(graph_->CallLike(*output, "last", {f})->next(), output);
  EXPECT_EQ(graph_->insertion_point(), f);
  // The origin may be of another graph, or erased.
  Module other;
  Node* foreign = other.AddGraph("forward")->CallFunction("foreign", {});
  foreign->set_module_path("there");
  Node* made = graph_->CallLike(*foreign, "g", {x});
  EXPECT_EQ(made->next(), f);
  EXPECT_EQ(made->name(), "foreign");
  EXPECT_EQ(made->module_path(), "there");
  graph_->EraseNode(made);
  EXPECT_EQ(graph_->CallLike(*made, "g", {x})->next(), f);
}

// --- Dead code ----------------------------------------------------------------------

bool IsPure(const Node& node) { return node.target() != "print" && !node.is_call_method("add_"); }

TEST_F(GraphTest, EliminateDeadCode) {
  module_.AddAttribute({.name = "w"});
  Node* x = graph_->Placeholder("x");
  graph_->Placeholder("unused");
  graph_->GetAttr("w", "dead_w");
  Node* live_w = graph_->GetAttr("w", "live_w");
  Node* dead1 = graph_->CallFunction("f", {x}, {}, "dead1");
  graph_->CallFunction("g", {Argument::List({dead1, dead1})}, {}, "dead2");
  Node* kept = graph_->CallFunction("f", {x}, {}, "kept");
  graph_->CallMethod("add_", {kept, 1}, {}, "add_");
  graph_->CallFunction("print", {}, {{"value", live_w}}, "print");
  Node* y = graph_->CallFunction("f", {x}, {}, "y");
  graph_->Output(Argument::Tuple({y}));
  EXPECT_EQ(graph_->EliminateDeadCode(IsPure), 3u);
  EXPECT_THAT(Names(),
              ElementsAre("x", "unused", "live_w", "kept", "add_", "print", "y", "output"));
  EXPECT_EQ(graph_->EliminateDeadCode(IsPure), 0u);
}

TEST_F(GraphTest, DeadChainsDieInOneGo) {
  Node* value = graph_->Placeholder("x");
  Node* x = value;
  for (int i = 0; i < 100000; ++i) {
    value = UncheckedBuilder(graph_).CreateNode(Op::kCallFunction, "f", {value, value}, {},
                                                absl::StrCat("n", i));
  }
  graph_->Output(x);
  EXPECT_EQ(graph_->EliminateDeadCode(IsPure), 100000u);
  EXPECT_THAT(Names(), ElementsAre("x", "output"));
}

// A call is erased only if `is_pure` says that it is pure.
TEST_F(GraphTest, ImpureCodeStays) {
  Node* x = graph_->Placeholder("x");
  graph_->CallFunction("f", {x});
  graph_->CallModule("layer", {x});
  graph_->Output(Argument::None());
  EXPECT_EQ(graph_->EliminateDeadCode([](const Node&) { return false; }), 0u);
  EXPECT_EQ(graph_->num_nodes(), 4u);
}

TEST_F(GraphTest, BodiesOfDeadCodeAreErasedByTheModule) {
  Graph* inner = module_.AddGraph("inner");
  inner->Output(Argument::None());
  Graph* body = module_.AddGraph("body");
  body->Output(body->CallFunction("torch.cond", {inner}));
  Graph* live = module_.AddGraph("live");
  live->Output(Argument::None());
  graph_->CallFunction("torch.cond", {Argument::List({body})});
  graph_->Output(graph_->CallFunction("torch.vmap", {}, {{"f", live}}));
  EXPECT_EQ(module_.EraseUnusedGraphs(), 0u);
  EXPECT_EQ(graph_->EliminateDeadCode(IsPure), 1u);
  EXPECT_THAT(Verify(module_), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(module_.EraseUnusedGraphs(), 2u);
  EXPECT_THAT(module_.graphs(), ElementsAre(graph_, live));
  EXPECT_EQ(module_.FindGraph("inner"), nullptr);
  EXPECT_EQ(module_.FindGraph("live"), live);
}

}  // namespace
}  // namespace graphnet

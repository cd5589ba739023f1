#include "graphnet/ir/graph.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/unchecked_builder.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/ir/ir_test_peer.h"

namespace graphnet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class GraphTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_OK(Verify(module_)); }

  // Returns the names of all nodes in order, and checks that both directions agree.
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const Node* node : graph_->nodes()) names.emplace_back(node->name());
    std::vector<std::string> backwards;
    for (Node* node = graph_->last(); node != nullptr; node = node->prev()) {
      backwards.emplace_back(node->name());
    }
    std::reverse(backwards.begin(), backwards.end());
    EXPECT_EQ(names, backwards);
    EXPECT_EQ(names.size(), graph_->num_nodes());
    return names;
  }
  Node* Make(absl::string_view name) { return graph_->CallFunction("f", {}, {}, name); }

  Module module_;
  Graph* graph_ = module_.AddGraph("forward");
};

// A fixture whose graph needs no output.
class OpenGraphTest : public GraphTest {
 protected:
  void TearDown() override {
    graph_->set_insertion_point(nullptr);
    graph_->Output(Argument::None());
    GraphTest::TearDown();
  }
};

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

TEST_F(GraphTest, CallLikeTakesWhatDescribesItsOrigin) {
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

// --- Order ----------------------------------------------------------------------

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

// --- Names ------------------------------------------------------------------------

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
  for (int i = 0; i < kInsertions; ++i) Make("relu");
  EXPECT_EQ(graph_->last()->name(), absl::StrCat("relu_", kInsertions - 1));
  for (int i = 0; i < kInsertions; ++i) Make("relu_1");
  EXPECT_EQ(graph_->last()->name(), absl::StrCat("relu_", 2 * kInsertions - 1));
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

// --- Copying nodes --------------------------------------------------------------------

class CopyNodeTest : public GraphTest {
 protected:
  Module other_;
  Graph* source_ = other_.AddGraph("forward");
};

TEST_F(CopyNodeTest, WithinOneGraph) {
  Node* x = graph_->Placeholder("x");
  Node* f = graph_->CallFunction("f", {x, Argument::List({x, 1})}, {{"k", x}});
  Node* copy = graph_->CopyNodeFrom(*f, [](Node* node) { return node; });
  EXPECT_EQ(copy->name(), "f_1");
  EXPECT_THAT(copy->operands(), ElementsAre(x, x, x));
  EXPECT_EQ(x->num_uses(), 6);
  copy->ReplaceInput(x, f);
  EXPECT_THAT(f->operands(), ElementsAre(x, x, x));
  graph_->Output(copy);
}

// Everything that the copy refers to belongs to its module, so the original module is destroyed
// before the copy is checked.
TEST_F(CopyNodeTest, AcrossModules) {
  module_.AddSymbol("s0", 4);
  Graph* body = module_.AddGraph("body");
  body->Output(Argument::None());
  Node* x = graph_->Placeholder("x");
  Node* y = graph_->Placeholder("y");
  Node* copy;
  {
    auto original = std::make_unique<Module>();
    Graph* source = original->AddGraph("forward");
    Graph* source_body = original->AddGraph("source_body");
    Node* a = source->Placeholder("a");
    Node* b = source->Placeholder("b");
    const SymExpr* twice =
        original->SymBinary(SymExpr::Kind::kMul, original->SymSymbol("s0"), original->SymInt(2));
    const std::string long_text(100, 't');
    Node* node = source->CallFunction(
        "my.target",
        {a, Argument::List({b, Argument::Tuple({a, "short", absl::string_view(long_text)}), twice}),
         source_body, original->Complex({1, 2}), DType::kInt8},
        {{"key", Argument::Dict({"k", Argument::Slice({Argument(), b, 2.5})})}}, "weird name!");
    UncheckedBuilder(source).SetName(node, "weird name!");
    node->set_location({"dir/model.py", 3, 4});
    node->set_module_path("a.b");
    node->set_annotation("Ann");
    TensorMeta meta;
    meta.dtype = DType::kFloat16;
    meta.has_device = meta.has_shape = true;
    meta.device = {DeviceType::kCuda, 1};
    const std::vector<Dim> shape = {2, twice};
    meta.shape = shape;
    node->set_meta(original->InternTupleMeta(
        {original->InternValueMeta(meta), original->arena().New<ValueMeta>()}));
    copy = graph_->CopyNodeFrom(
        *node, [&](Node* n) { return n == a ? x : y; },
        [&](Graph* g) { return g == source_body ? body : nullptr; });
  }
  EXPECT_EQ(copy->name(), "weird name!");
  EXPECT_EQ(copy->target(), "my.target");
  EXPECT_THAT(copy->operands(), ElementsAre(x, y, x, y));
  const absl::Span<const Argument> list = copy->args()[1].elements();
  EXPECT_EQ(list[1].elements()[1].string(), "short");
  EXPECT_EQ(list[1].elements()[2].string(), std::string(100, 't'));
  EXPECT_EQ(list[2].sym()->lhs->name, "s0");
  EXPECT_EQ(list[2].sym()->rhs->value, 2);
  EXPECT_EQ(copy->args()[2].graph(), body);
  EXPECT_EQ(copy->args()[3].complex(), std::complex<double>(1, 2));
  EXPECT_EQ(copy->args()[4].dtype(), DType::kInt8);
  EXPECT_EQ(copy->kwarg("key")->elements()[0].string(), "k");
  EXPECT_EQ(copy->kwarg("key")->elements()[1].elements()[2].real(), 2.5);
  EXPECT_EQ(copy->location().file, "dir/model.py");
  EXPECT_EQ(copy->location().line, 3u);
  EXPECT_EQ(copy->module_path(), "a.b");
  EXPECT_EQ(copy->annotation(), "Ann");
  ASSERT_TRUE(copy->meta()->is_tuple);
  const TensorMeta* tensor = copy->meta()->elements[0]->tensor;
  EXPECT_EQ(tensor->dtype, DType::kFloat16);
  EXPECT_EQ(tensor->device.index, 1);
  EXPECT_EQ(tensor->shape[0].value, 2);
  EXPECT_EQ(tensor->shape[1].expr->kind, SymExpr::Kind::kMul);
  EXPECT_EQ(tensor->shape[1].expr->lhs->name, "s0");
  EXPECT_EQ(copy->meta()->elements[1]->tensor, nullptr);
  graph_->Output(copy);
}

TEST_F(CopyNodeTest, DrawSpecsAcrossModules) {
  Node* copy;
  {
    auto original = std::make_unique<Module>();
    Node* x = original->AddGraph("forward")->Placeholder("x");
    DrawSpec spec;
    spec.has_std = true;
    spec.std = 2;
    spec.min = -1;
    spec.max = 1.5;
    const std::vector<Argument> data = {1, 2.5, true};
    spec.data = Argument::List(data);
    spec.original_name = "L_x_";
    x->set_draw_spec(spec);
    copy = graph_->CopyNodeFrom(*x, [](Node* node) { return node; });
  }
  const DrawSpec* spec = copy->draw_spec();
  ASSERT_NE(spec, nullptr);
  EXPECT_EQ(spec->std, 2);
  EXPECT_EQ(spec->min.integer(), -1);
  EXPECT_EQ(spec->max.real(), 1.5);
  EXPECT_EQ(spec->data, Argument::List({1, 2.5, true}));
  EXPECT_EQ(spec->original_name, "L_x_");
  graph_->Output(copy);
}

TEST_F(CopyNodeTest, ToTheInsertionPoint) {
  Node* f = source_->CallFunction("f", {}, {}, "f");
  Node* end = Make("end");
  InsertionGuard guard(graph_, end);
  const auto none = [](Node*) -> Node* { return nullptr; };
  graph_->CopyNodeFrom(*f, none);
  graph_->CopyNodeFrom(*f, none);
  EXPECT_THAT(Names(), ElementsAre("f", "f_1", "end"));
  graph_->set_insertion_point(nullptr);
  graph_->Output(Argument::None());
}

using GraphDeathTest = GraphTest;

TEST_F(GraphDeathTest, CopiesNeedTheirOperandsAndBodies) {
  Node* x = graph_->Placeholder("x");
  Node* f = graph_->CallFunction("f", {Argument::List({x})});
  Graph* body = module_.AddGraph("body");
  body->Output(Argument::None());
  Node* g = graph_->CallFunction("g", {body});
  graph_->Output(Argument::None());
  Module other;
  Graph* target = other.AddGraph("forward");
  EXPECT_DEATH(target->CopyNodeFrom(*f, [](Node*) -> Node* { return nullptr; }), "check failed");
  // By default a body is shared, which needs the same module.
  EXPECT_DEATH(target->CopyNodeFrom(*g, [](Node*) -> Node* { return nullptr; }), "check failed");
}

}  // namespace
}  // namespace graphnet

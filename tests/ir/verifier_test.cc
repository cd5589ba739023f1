#include "graphnet/ir/verifier.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/base/limits.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/shared_walk.h"
#include "graphnet/ir/unchecked_builder.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/ir/ir_test_peer.h"

namespace graphnet {
namespace {

using Kind = SymExpr::Kind;

constexpr auto kBroken = absl::StatusCode::kFailedPrecondition;

// A valid module, which the tests break.
struct Fixture {
  Fixture() {
    module.AddSymbol("s0", 4);
    s0 = module.SymSymbol("s0");
    module.AddRelation(module.SymBinary(Kind::kLt, s0, module.SymInt(100)));
    module.AddAttribute({.name = "w"});
    main = module.AddGraph("forward");
    body = module.AddGraph("body");
    x = main->Placeholder("x");
    y = main->Placeholder("y");
    w = main->GetAttr("w");
    f = main->CallFunction("f", {x, Argument::List({y, x})}, {{"k", w}});
    m = main->CallMethod("view", {f, s0});
    cond = main->CallFunction("torch.cond", {m, body});
    output = main->Output(cond);
    body_x = body->Placeholder("bx");
    body->Output(body_x);
    TensorMeta meta;
    meta.dtype = DType::kFloat32;
    meta.has_shape = true;
    const std::vector<Dim> shape = {2, s0};
    meta.shape = shape;
    x->set_meta(module.InternValueMeta(meta));
  }
  // Gives `x` a meta of this shape.
  void SetShape(const std::vector<Dim>& shape) {
    TensorMeta meta;
    meta.has_shape = true;
    meta.shape = shape;
    x->set_meta(module.InternValueMeta(meta));
  }
  // Passes `depth` nested lists around `innermost` to the call.
  void SetNested(int depth, Argument innermost) {
    std::vector<std::vector<Argument>> levels = {{innermost}};
    for (int i = 1; i < depth; ++i) levels.push_back({Argument::List(levels.back())});
    f->set_args({Argument::List(levels.back())});
  }
  // Returns a sum that nests `depth` deep.
  const SymExpr* Sum(int depth) {
    const SymExpr* sum = s0;
    for (int i = 0; i < depth; ++i) sum = module.SymBinary(Kind::kAdd, sum, module.SymInt(i));
    return sum;
  }
  void SetData(Node* node, const std::vector<Argument>& data) {
    DrawSpec spec;
    spec.data = Argument::List(data);
    node->set_draw_spec(spec);
  }

  Module module;
  const SymExpr* s0;
  Graph *main, *body;
  Node *x, *y, *w, *f, *m, *cond, *output, *body_x;
};

using Peer = IrTestPeer;
using Break = std::function<void(Fixture&)>;

TEST(VerifierTest, TheFixtureIsValid) {
  Fixture fixture;
  EXPECT_OK(Verify(fixture.module));
}

struct Case {
  const char* what;
  Break breaks;
  std::string message;
};

void ExpectMessages(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    Fixture fixture;
    c.breaks(fixture);
    EXPECT_THAT(Verify(fixture.module), StatusIs(kBroken, c.message));
  }
}

// Each invariant has a test. The numbers are those of verifier.h.

TEST(VerifierTest, Invariant1) {
  EXPECT_THAT(Verify(Module()), StatusIs(kBroken, "invariant 1: the module has no graph"));
  ExpectMessages({
      {"no name", [](Fixture& f) { f.module.AddGraph(""); }, "invariant 1: a graph has no name"},
      {"one name twice", [](Fixture& f) { Peer::set_name(f.body, "forward"); },
       "invariant 1: two graphs are named forward"},
      {"a name that is no line",
       [](Fixture& f) {
         Peer::set_name(f.main, "a\nb");
         Peer::set_name(f.body, "a\nb");
       },
       "invariant 1: two graphs are named a\\nb"},
  });
}

TEST(VerifierTest, Invariant2) {
  ExpectMessages({
      {"graph", [](Fixture& f) { Peer::graph(f.w) = f.body; },
       "invariant 2: graph forward, node w: belongs to another graph"},
      {"erased", [](Fixture& f) { Peer::set_erased(f.cond, true); },
       "invariant 2: graph forward, node cond: is erased"},
      {"prev", [](Fixture& f) { Peer::prev(f.f) = f.x; },
       "invariant 2: graph forward, node f: is not linked to the node before it"},
      {"no prev", [](Fixture& f) { Peer::prev(f.f) = nullptr; },
       "invariant 2: graph forward, node f: is not linked to the node before it"},
      {"prev of the first", [](Fixture& f) { Peer::prev(f.x) = f.y; },
       "invariant 2: graph forward, node x: is not linked to the node before it"},
      {"next leaves one out", [](Fixture& f) { Peer::next(f.f) = f.cond; },
       "invariant 2: graph forward, node cond: is not linked to the node before it"},
      {"a circle", [](Fixture& f) { Peer::next(f.m) = f.x; },
       "invariant 2: graph forward, node x: is not linked to the node before it"},
      {"equal order", [](Fixture& f) { Peer::order(f.f) = Peer::order(f.w); },
       "invariant 2: graph forward, node f: order keys do not increase"},
      {"falling order", [](Fixture& f) { Peer::order(f.f) = 0; },
       "invariant 2: graph forward, node f: order keys do not increase"},
      {"count", [](Fixture& f) { ++Peer::num_nodes(f.main); },
       "invariant 2: graph forward: the list of nodes is broken"},
      {"last", [](Fixture& f) { Peer::last(f.main) = f.cond; },
       "invariant 2: graph forward: the list of nodes is broken"},
      {"cut short", [](Fixture& f) { Peer::next(f.cond) = nullptr; },
       "invariant 2: graph forward: the list of nodes is broken"},
  });
}

TEST(VerifierTest, Invariant3) {
  ExpectMessages({
      {"no name", [](Fixture& f) { UncheckedBuilder(f.main).SetName(f.f, ""); },
       "invariant 3: graph forward, node : has no name"},
      {"taken", [](Fixture& f) { UncheckedBuilder(f.main).SetName(f.f, "x"); },
       "invariant 3: graph forward, node x: the name is not unique"},
      {"made with a name that is taken",
       [](Fixture& f) {
         InsertionGuard guard(f.main, f.output);
         UncheckedBuilder(f.main).CreateNode(Op::kCallFunction, "g", {}, {}, "x");
       },
       "invariant 3: graph forward, node x: the name is not unique"},
      {"too long", [](Fixture& f) { f.f->set_name(std::string(kMaxNameBytes + 1, 'n')); },
       absl::StrCat("invariant 3: graph forward, node ", std::string(200, 'n'),
                    "...: the name is too long")},
  });
  Fixture fixture;
  fixture.f->set_name(std::string(kMaxNameBytes, 'n'));
  EXPECT_OK(Verify(fixture.module));
  // Names are labels: any bytes are valid, and another graph may have the same ones.
  UncheckedBuilder(fixture.main).SetName(fixture.f, "\n \xff");
  UncheckedBuilder(fixture.main).SetName(fixture.x, "bx");
  EXPECT_OK(Verify(fixture.module));
}

TEST(VerifierTest, Invariant4) {
  ExpectMessages({
      {"late", [](Fixture& f) { f.main->MoveBefore(f.y, f.f); },
       "invariant 4: graph forward, node y: a placeholder comes after another operation"},
      {"args", [](Fixture& f) { f.y->set_args({1}); },
       "invariant 4: graph forward, node y: a placeholder takes no arguments"},
      {"kwargs",
       [](Fixture& f) {
         f.y->set_kwargs({{"k", 1}});
       },
       "invariant 4: graph forward, node y: a placeholder takes no arguments"},
      {"target", [](Fixture& f) { f.y->set_target("x"); },
       "invariant 4: graph forward, node y: another placeholder has the same target"},
  });
  Fixture fixture;  // Another graph may have the same target.
  fixture.body_x->set_target("x");
  EXPECT_OK(Verify(fixture.module));
}

TEST(VerifierTest, Invariant5) {
  ExpectMessages({
      {"none", [](Fixture& f) { f.main->EraseNode(f.output); },
       "invariant 5: graph forward: the output is missing"},
      {"none in a body", [](Fixture& f) { f.body->EraseNode(f.body->last()); },
       "invariant 5: graph body: the output is missing"},
      {"two", [](Fixture& f) { f.main->Output(f.x); },
       "invariant 5: graph forward, node output_1: comes after the output"},
      {"not last", [](Fixture& f) { f.main->CallFunction("late", {}); },
       "invariant 5: graph forward, node late: comes after the output"},
      {"no argument", [](Fixture& f) { f.output->set_args({}); },
       "invariant 5: graph forward, node output: an output has one argument and no keywords"},
      {"two arguments",
       [](Fixture& f) {
         f.output->set_args({f.x, f.y});
       },
       "invariant 5: graph forward, node output: an output has one argument and no keywords"},
      {"keywords",
       [](Fixture& f) {
         f.output->set_kwargs({{"k", 1}});
       },
       "invariant 5: graph forward, node output: an output has one argument and no keywords"},
      {"uses",
       [](Fixture& f) {
         InsertionGuard guard(f.main, f.output);
         f.main->CallFunction("g", {f.output});
         f.main->MoveBefore(f.output, f.main->FindNode("g"));
       },
       "invariant 5: graph forward, node output: an output has uses"},
  });
}

TEST(VerifierTest, Invariant6) {
  ExpectMessages({
      {"of another graph", [](Fixture& f) { Peer::set_node(Peer::arg(f.output, 0), f.body_x); },
       "invariant 6: graph forward, node output: an operand belongs to another graph"},
      {"none", [](Fixture& f) { Peer::set_node(Peer::arg(f.m, 1), nullptr); },
       "invariant 6: graph forward, node view: an operand belongs to another graph"},
      {"erased",
       [](Fixture& f) {
         Node* g = f.main->CallFunction("g", {});
         f.main->EraseNode(g);
         Peer::set_node(Peer::arg(f.output, 0), g);
       },
       "invariant 6: graph forward, node output: operand g is erased"},
      {"later", [](Fixture& f) { f.main->MoveBefore(f.m, f.f); },
       "invariant 6: graph forward, node view: operand f is used before it is defined"},
      {"itself", [](Fixture& f) { f.m->SetOperand(0, f.m); },
       "invariant 6: graph forward, node view: operand view is used before it is defined"},
      {"nested", [](Fixture& f) { f.f->SetOperand(1, f.m); },
       "invariant 6: graph forward, node f: operand view is used before it is defined"},
      {"in a keyword", [](Fixture& f) { f.f->SetOperand(3, f.m); },
       "invariant 6: graph forward, node f: operand view is used before it is defined"},
  });
}

TEST(VerifierTest, Invariant7) {
  ExpectMessages({
      {"an operand that its value does not know",
       [](Fixture& f) { Peer::set_node(Peer::arg(f.m, 1), f.x); },
       "invariant 7: graph forward, node view: is not among the uses of x"},
      {"wrong place", [](Fixture& f) { Peer::position(Peer::arg(f.f, 0)) = 1; },
       "invariant 7: graph forward, node f: is not among the uses of x"},
      {"place out of range", [](Fixture& f) { Peer::position(Peer::arg(f.f, 0)) = 7; },
       "invariant 7: graph forward, node f: is not among the uses of x"},
      {"wrong user", [](Fixture& f) { Peer::user(f.x, 0) = f.m; },
       "invariant 7: graph forward, node f: is not among the uses of x"},
      {"a use too few", [](Fixture& f) { --Peer::num_uses(f.m); },
       "invariant 7: graph forward, node cond: is not among the uses of view"},
      {"a use too many", [](Fixture& f) { ++Peer::num_uses(f.cond); },
       "invariant 7: graph forward: 8 uses for 7 operands"},
      {"an operand overwritten", [](Fixture& f) { *Peer::arg(f.m, 0) = Argument(1); },
       "invariant 7: graph forward: 7 uses for 6 operands"},
  });
}

TEST(VerifierTest, Invariant8) {
  ExpectMessages({
      {"no target", [](Fixture& f) { f.f->set_target(""); },
       "invariant 8: graph forward, node f: has no target"},
      {"no target of a placeholder", [](Fixture& f) { f.x->set_target(""); },
       "invariant 8: graph forward, node x: has no target"},
      {"no object", [](Fixture& f) { f.m->set_args({}); },
       "invariant 8: graph forward, node view: a call_method has no first argument"},
      {"no keyword",
       [](Fixture& f) {
         f.f->set_kwargs({{"", 1}});
       },
       "invariant 8: graph forward, node f: a keyword has no name"},
      {"keyword twice",
       [](Fixture& f) {
         f.f->set_kwargs({{"a", 1}, {"b", 1}, {"a", 2}});
       },
       "invariant 8: graph forward, node f: keyword a is given twice"},
  });
}

TEST(VerifierTest, Invariant9) {
  ExpectMessages({
      {"no graph", [](Fixture& f) { Peer::set_graph(Peer::arg(f.cond, 1), nullptr); },
       "invariant 9: graph forward, node cond: refers to a graph that is not in this module"},
      {"of another module",
       [](Fixture& f) {
         static Module* const other = new Module;
         Peer::set_graph(Peer::arg(f.cond, 1), other->AddGraph("body"));
       },
       "invariant 9: graph forward, node cond: refers to a graph that is not in this module"},
      {"not referred to", [](Fixture& f) { f.module.AddGraph("orphan")->Output(1); },
       "invariant 9: graph orphan is never referred to"},
      {"itself",
       [](Fixture& f) {
         InsertionGuard guard(f.body, f.body->last());
         f.body->CallFunction("torch.vmap", {}, {{"k", f.body}});
       },
       "invariant 9: graph body refers to itself"},
      {"the first one",
       [](Fixture& f) {
         InsertionGuard guard(f.body, f.body->last());
         f.body->CallFunction("torch.vmap", {f.main});
       },
       "invariant 9: graph forward refers to itself"},
      {"a circle that the first does not reach",
       [](Fixture& f) {
         Graph* a = f.module.AddGraph("a");
         Graph* b = f.module.AddGraph("b");
         a->Output(b);
         b->Output(a);
       },
       "invariant 9: graph a refers to itself"},
  });
}

#ifdef NDEBUG
// Without NDEBUG, EraseGraph aborts.
TEST(VerifierTest, Invariant9OfAnErasedGraph) {
  ExpectMessages(
      {{"erased", [](Fixture& f) { f.module.EraseGraph(f.body); },
        "invariant 9: graph forward, node cond: refers to a graph that is not in this module"}});
}
#endif

TEST(VerifierTest, BodiesMayBeSharedAndReachedByManyPaths) {
  Fixture f;
  Graph* outer = f.module.AddGraph("outer");
  outer->Output(outer->CallFunction("torch.vmap", {f.body, f.body}));
  f.f->set_args({outer, f.body, outer});
  EXPECT_OK(Verify(f.module));
}

// There are 2^40 paths, so each graph must be visited once.
TEST(VerifierTest, ReferencesAreFollowedOnce) {
  Fixture f;
  Graph* last = f.body;
  for (int i = 0; i < 40; ++i) {
    Graph* next = f.module.AddGraph("next");
    InsertionGuard guard(last, last->output());
    last->CallFunction("torch.cond", {next, next});
    next->Output(1);
    last = next;
  }
  EXPECT_OK(Verify(f.module));
}

// Makes a main graph and a chain of `bodies`, each of which refers to the next.
std::unique_ptr<Module> Chain(int bodies) {
  auto module = std::make_unique<Module>();
  Graph* graph = module->AddGraph("forward");
  for (int i = 0; i < bodies; ++i) {
    Graph* next = module->AddGraph("body");
    graph->Output(Argument::Dict({"body", next}));
    graph = next;
  }
  graph->Output(1);
  return module;
}

// Code that recurses into bodies relies on this limit.
TEST(VerifierTest, BodiesNestToTheLimit) {
  EXPECT_OK(Verify(*Chain(kMaxNesting - 1)));
  EXPECT_OK(Verify(*Chain(kMaxNesting)));
  EXPECT_THAT(Verify(*Chain(kMaxNesting + 1)),
              StatusIs(kBroken, "invariant 13: in graph forward, bodies nest deeper than 200"));
  for (const int bodies : {5000, 120000}) {
    const auto module = Chain(bodies);
    EXPECT_THAT(Verify(*module), StatusIs(kBroken, testing::StartsWith("invariant 13: in graph")));
    Graph* last = module->graphs().back();
    last->last()->set_args({module->graphs()[5]});
    EXPECT_THAT(Verify(*module), StatusIs(kBroken, "invariant 9: graph body_4 refers to itself"));
  }
}

// The longest path counts, whichever is seen first.
TEST(VerifierTest, TheLongestPathOfBodiesCounts) {
  for (const bool long_way_first : {false, true}) {
    const auto module = Chain(kMaxNesting);
    Graph* first = module->main();
    Graph* second = module->graphs()[1];
    first->last()->set_args({long_way_first ? Argument::Tuple({second, module->graphs()[150]})
                                            : Argument::Tuple({module->graphs()[150], second})});
    EXPECT_OK(Verify(*module));
    Graph* more = module->AddGraph("more");
    more->Output(2);
    module->graphs()[kMaxNesting]->last()->set_args({more});
    EXPECT_THAT(Verify(*module),
                StatusIs(kBroken, "invariant 13: in graph forward, bodies nest deeper than 200"));
  }
}

TEST(VerifierTest, Invariant10) {
  ExpectMessages({
      {"no attribute", [](Fixture& f) { f.module.EraseAttribute("w"); },
       "invariant 10: graph forward, node w: the module has no attribute w"},
      {"args", [](Fixture& f) { f.w->set_args({1}); },
       "invariant 10: graph forward, node w: a get_attr takes no arguments"},
      {"kwargs",
       [](Fixture& f) {
         f.w->set_kwargs({{"k", 1}});
       },
       "invariant 10: graph forward, node w: a get_attr takes no arguments"},
      {"nameless", [](Fixture& f) { f.module.AddAttribute({.name = ""}); },
       "invariant 10: attribute : an attribute has no name"},
  });
}

TEST(VerifierTest, Invariant11) {
  const std::string where = "invariant 11: graph forward, node x: ";
  ExpectMessages({
      {"rank", [](Fixture& f) { f.SetShape(std::vector<Dim>(kMaxRank + 1, Dim(1))); },
       where + "too many dimensions"},
      {"negative",
       [](Fixture& f) {
         f.SetShape({2, -1});
       },
       where + "dimension -1 is negative"},
      {"elements",
       [](Fixture& f) {
         f.SetShape({int64_t{1} << 20, (int64_t{1} << 20) + 1});
       },
       where + "too many elements"},
      {"overflow",
       [](Fixture& f) {
         f.SetShape({INT64_MAX, INT64_MAX});
       },
       where + "too many elements"},
      {"beside a zero",
       [](Fixture& f) {
         f.SetShape({0, INT64_MAX});
       },
       where + "too many elements"},
      {"before a zero",
       [](Fixture& f) {
         f.SetShape({INT64_MAX, 0});
       },
       where + "too many elements"},
      {"in a tuple",
       [](Fixture& f) {
         f.SetShape({-2});
         f.y->set_meta(f.module.InternTupleMeta({f.module.InternTupleMeta({f.x->meta()})}));
         f.x->set_meta(nullptr);
       },
       "invariant 11: graph forward, node y: dimension -2 is negative"},
      {"of an attribute",
       [](Fixture& f) {
         TensorMeta meta;
         meta.has_shape = true;
         const std::vector<Dim> shape = {-3};
         meta.shape = shape;
         f.module.AddAttribute({"w", &meta, "", nullptr});
       },
       "invariant 11: attribute w: dimension -3 is negative"},
  });
  Fixture f;
  f.SetShape(std::vector<Dim>(kMaxRank, Dim(1)));
  EXPECT_OK(Verify(f.module));
  f.SetShape({int64_t{1} << 20, int64_t{1} << 20});
  EXPECT_OK(Verify(f.module));
  f.SetShape({0, f.s0, kMaxTensorElements, 0});
  EXPECT_OK(Verify(f.module));
  f.x->set_meta(f.module.InternTupleMeta({f.module.arena().New<ValueMeta>()}));
  EXPECT_OK(Verify(f.module));
}

TEST(VerifierTest, Invariant12) {
  ExpectMessages({
      {"symbol", [](Fixture& f) { f.module.AddSymbol("", 1); },
       "invariant 12: a symbol has no name"},
      {"undeclared in an argument",
       [](Fixture& f) {
         f.m->set_args({f.f, f.module.SymSymbol("s1")});
       },
       "invariant 12: graph forward, node view: symbol s1 is not declared"},
      {"undeclared in an expression",
       [](Fixture& f) {
         f.m->set_args({f.f, f.module.SymBinary(Kind::kAdd, f.s0,
                                                f.module.SymNeg(f.module.SymSymbol("s1")))});
       },
       "invariant 12: graph forward, node view: symbol s1 is not declared"},
      {"undeclared in a shape", [](Fixture& f) { f.SetShape({f.module.SymSymbol("s1")}); },
       "invariant 12: graph forward, node x: symbol s1 is not declared"},
      {"undeclared in a relation",
       [](Fixture& f) {
         f.module.AddRelation(f.module.SymBinary(Kind::kEq, f.s0, f.module.SymSymbol("s1")));
       },
       "invariant 12: symbol s1 is not declared"},
      {"no relation", [](Fixture& f) { f.module.AddRelation(f.s0); },
       "invariant 12: a relation is not a comparison"},
      {"relation in a relation",
       [](Fixture& f) {
         f.module.AddRelation(f.module.SymBinary(Kind::kEq, f.module.relations()[0], f.s0));
       },
       "invariant 12: a comparison is used as a number"},
      {"relation as an argument",
       [](Fixture& f) {
         f.m->set_args({f.f, f.module.relations()[0]});
       },
       "invariant 12: graph forward, node view: a comparison is used as a number"},
      {"relation as a dimension", [](Fixture& f) { f.SetShape({f.module.relations()[0]}); },
       "invariant 12: graph forward, node x: a comparison is used as a number"},
      {"relation in an expression",
       [](Fixture& f) { f.SetShape({f.module.SymNeg(f.module.relations()[0])}); },
       "invariant 12: graph forward, node x: a comparison is used as a number"},
  });
}

TEST(VerifierTest, Invariant13) {
  const std::string where = "invariant 13: graph forward, node f: ";
  ExpectMessages({
      {"arguments", [](Fixture& f) { f.SetNested(kMaxNesting + 1, 1); },
       where + "arguments nest too deep"},
      {"key",
       [](Fixture& f) {
         f.f->set_args({Argument::Dict({f.x, 1})});
       },
       where + "the key of a dict holds a node"},
      {"within a key",
       [](Fixture& f) {
         f.f->set_args({Argument::Dict({"k", 1, Argument::Tuple({f.x}), 1})});
       },
       where + "the key of a dict holds a node"},
      {"expression", [](Fixture& f) { f.f->set_args({f.Sum(kMaxNesting + 1)}); },
       where + "an expression nests too deep"},
      {"shape", [](Fixture& f) { f.SetShape({f.Sum(kMaxNesting + 1)}); },
       "invariant 13: graph forward, node x: an expression nests too deep"},
      {"relation",
       [](Fixture& f) {
         f.module.AddRelation(f.module.SymBinary(Kind::kEq, f.s0, f.Sum(kMaxNesting)));
       },
       "invariant 13: an expression nests too deep"},
      {"metas",
       [](Fixture& f) {
         const ValueMeta* meta = f.x->meta();
         for (int i = 0; i <= kMaxNesting; ++i) meta = f.module.InternTupleMeta({meta});
         f.x->set_meta(meta);
       },
       "invariant 13: graph forward, node x: metas nest too deep"},
  });
  for (const int less : {0, 1}) {
    Fixture f;
    f.SetNested(kMaxNesting - less, f.Sum(kMaxNesting - less));
    f.SetShape({f.Sum(kMaxNesting - less)});
    f.module.AddRelation(f.module.SymBinary(Kind::kEq, f.s0, f.Sum(kMaxNesting - 1 - less)));
    const ValueMeta* meta = f.x->meta();
    for (int i = 0; i < kMaxNesting - less; ++i) meta = f.module.InternTupleMeta({meta});
    f.y->set_meta(meta);
    EXPECT_OK(Verify(f.module));
  }
}

TEST(VerifierTest, Invariant14) {
  const std::string where = "invariant 14: graph forward, node x: ";
  ExpectMessages({
      {"of a call", [](Fixture& f) { f.f->set_draw_spec({}); },
       "invariant 14: graph forward, node f: only placeholders have draw specs"},
      {"of a get_attr", [](Fixture& f) { f.w->set_draw_spec({}); },
       "invariant 14: graph forward, node w: only placeholders have draw specs"},
      {"bound",
       [](Fixture& f) {
         DrawSpec spec;
         spec.min = true;
         f.x->set_draw_spec(spec);
       },
       where + "a bound is not a number"},
      {"upper bound",
       [](Fixture& f) {
         DrawSpec spec;
         spec.max = "1";
         f.x->set_draw_spec(spec);
       },
       where + "a bound is not a number"},
      {"data",
       [](Fixture& f) {
         DrawSpec spec;
         spec.data = 1;
         f.x->set_draw_spec(spec);
       },
       where + "literal data is not a list"},
      {"element",
       [](Fixture& f) {
         f.SetData(f.x, {1, "2"});
       },
       where + "literal data holds a value that is not a number"},
      {"too few", [](Fixture& f) { f.SetData(f.x, std::vector<Argument>(7, 1)); },
       where + "literal data has 7 elements, but the shape has 8"},
      {"of an attribute",
       [](Fixture& f) {
         DrawSpec spec;
         const std::vector<Argument> data = {1, 2, 3};
         spec.data = Argument::List(data);
         f.module.AddAttribute({"w", f.x->tensor_meta(), "", &spec});
       },
       "invariant 14: attribute w: literal data has 3 elements, but the shape has 8"},
  });
  Fixture f;
  f.SetData(f.x, std::vector<Argument>(8, 2.5));
  EXPECT_OK(Verify(f.module));
  // An unknown size cannot be compared.
  f.module.AddSymbol("s0", std::nullopt);
  EXPECT_OK(Verify(f.module));
  f.SetData(f.y, {1, 2, false});
  EXPECT_OK(Verify(f.module));
}

TEST(VerifierTest, Invariant15) {
  ExpectMessages({
      {"arguments",
       [](Fixture& f) {
         Argument list = f.module.CopyArgument(Argument::List({1, 1}));
         for (uint64_t size = 2; size <= kMaxWrittenOut; size *= 2)
           list = f.module.CopyArgument(Argument::List({list, list}));
         f.f->set_args({list});
       },
       absl::StrCat("invariant 15: graph forward, node f: the arguments hold more than ",
                    kMaxWrittenOut, " values when shared parts are written out")},
      {"expression",
       [](Fixture& f) {
         const SymExpr* sum = f.s0;
         for (uint64_t size = 1; size <= kMaxTerms; size *= 2)
           sum = f.module.SymBinary(Kind::kAdd, sum, sum);
         f.f->set_args({sum});
       },
       absl::StrCat("invariant 15: graph forward, node f: an expression has more than ", kMaxTerms,
                    " terms when shared parts are written out")},
  });
}

TEST(VerifierTest, ManyKeywordsTakeLinearTime) {
  Fixture f;
  std::vector<std::string> names;
  std::vector<KwArg> kwargs;
  for (int i = 0; i < 200000; ++i) names.push_back(absl::StrCat("k", i));
  for (const std::string& name : names) kwargs.push_back({name, 1});
  f.f->set_kwargs(kwargs);
  EXPECT_OK(Verify(f.module));
}

}  // namespace
}  // namespace graphnet

#include "graphnet/ir/canonical_hash.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/unchecked_builder.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using Kind = SymExpr::Kind;

// The labels that a hash must ignore.
struct Labels {
  std::string x = "x";
  std::string y = "y";
  std::string w = "w";
  std::string v = "v";
  std::string s0 = "s0";
  std::string s1 = "s1";
  std::string body = "body";
};

// A module with one of everything that counts, which the tests change.
struct Fixture {
  explicit Fixture(const Labels& labels = {}) {
    module.AddSymbol(labels.s0, 4);
    module.AddSymbol(labels.s1, 5);
    TensorMeta meta;
    meta.dtype = DType::kFloat32;
    meta.has_shape = meta.has_device = true;
    s0 = module.SymSymbol(labels.s0);
    s1 = module.SymSymbol(labels.s1);
    const std::vector<Dim> shape = {2, s1};
    meta.shape = shape;
    module.AddAttribute({labels.w, &meta, "", nullptr});
    module.AddAttribute({labels.v, nullptr, "", nullptr});
    main = module.AddGraph("forward");
    body = module.AddGraph(labels.body);
    other_body = module.AddGraph(labels.body);
    x = main->Placeholder(labels.x);
    y = main->Placeholder(labels.y);
    w = main->GetAttr(labels.w);
    v = main->GetAttr(labels.v);
    call =
        main->CallFunction("f",
                           {x, 1, 2.5, true, Argument(), "text", Argument::Ellipsis(), DType::kInt8,
                            Device{DeviceType::kCuda, 0}, Layout::kStrided, MemoryFormat::kPreserve,
                            module.Complex({1, 2}), Argument::List({w, Argument::Tuple({v, 3})}),
                            Argument::Slice({1, 2, 3}), Argument::Dict({"k", y}),
                            module.SymBinary(Kind::kAdd, s0, module.SymInt(1)), s1},
                           {{"a", x}, {"b", 1}});
    cond = main->CallFunction("torch.cond", {call, body, other_body});
    method = main->CallMethod("view", {cond, x});
    layer = main->CallModule("layer", {method});
    output = main->Output(Argument::Tuple({layer, x}));
    for (Graph* graph : {body, other_body}) {
      Node* a = graph->Placeholder("a");
      graph->Output(graph->CallFunction(graph == body ? "g" : "h", {a}));
    }
    x->set_meta(module.InternValueMeta(meta));
    call->set_meta(module.InternTupleMeta({x->meta()}));
  }

  std::string Hash(bool metas = false) const { return CanonicalHash(module, {.metas = metas}); }

  Module module;
  const SymExpr *s0, *s1;
  Graph *main, *body, *other_body;
  Node *x, *y, *w, *v, *call, *cond, *method, *layer, *output;
};

TEST(CanonicalHashTest, IsHexadecimal) {
  EXPECT_OK(Verify(Fixture().module));
  EXPECT_THAT(Fixture().Hash(), testing::MatchesRegex("[0-9a-f]{64}"));
  EXPECT_EQ(Fixture().Hash(), Fixture().Hash());
  EXPECT_NE(Fixture().Hash(false), Fixture().Hash(true));
}

// Samples store hashes. If this test fails, the hashed bytes have changed, and stored hashes match
// nothing any more. Change the code, not the values.
TEST(CanonicalHashTest, NeverChanges) {
  EXPECT_EQ(CanonicalHash(Module()),
            "01120653bb74f4434ee8e7c968e2cc7a87eef1e459f456980999a96f3f9d1925");
  EXPECT_EQ(Fixture().Hash(), "575bc49b4a7382d463f5ca267db997952e54af348077f576fec2152e40300b5f");
  EXPECT_EQ(Fixture().Hash(true),
            "29acd3f2ec64329fccd21a23e0b37fd19ad97d8b8d68b83d6b012fc75c1dc6ee");
}

TEST(CanonicalHashTest, LabelsDoNotCount) {
  const std::string expected = Fixture().Hash();
  const std::string expected_metas = Fixture().Hash(true);
  const Labels labels = {
      .x = "b", .y = "a", .w = "z", .v = "q", .s0 = "t", .s1 = "s0", .body = "sub"};
  EXPECT_EQ(Fixture(labels).Hash(), expected);
  EXPECT_EQ(Fixture(labels).Hash(true), expected_metas);
  const std::pair<const char*, std::function<void(Fixture&)>> changes[] = {
      {"node names",
       [](Fixture& f) {
         for (Graph* graph : f.module.graphs()) {
           int i = 0;
           for (Node* node : graph->nodes())
             UncheckedBuilder(graph).SetName(node, absl::StrCat("n", i++));
         }
       }},
      {"graph names", [](Fixture& f) { f.module.RenameGraph(f.main, "main"); }},
      {"locations",
       [](Fixture& f) {
         f.x->set_location({"m.py", 1, 2});
       }},
      {"module paths", [](Fixture& f) { f.call->set_module_path("a.b"); }},
      {"annotations", [](Fixture& f) { f.x->set_annotation("T"); }},
      {"draw specs", [](Fixture& f) { f.x->set_draw_spec({}); }},
      {"examples", [](Fixture& f) { f.module.AddSymbol("s0", 77); }},
      {"more symbols", [](Fixture& f) { f.module.AddSymbol("s9", 1); }},
      {"relations",
       [](Fixture& f) { f.module.AddRelation(f.module.SymBinary(Kind::kLt, f.s0, f.s1)); }},
      {"unused attributes", [](Fixture& f) { f.module.AddAttribute({.name = "unused"}); }},
      {"unused graphs", [](Fixture& f) { f.module.AddGraph("unused")->Output(1); }},
      {"the node that a move is undone for",
       [](Fixture& f) {
         f.main->MoveBefore(f.v, f.w);
         f.main->MoveBefore(f.w, f.v);
       }},
      {"erased nodes", [](Fixture& f) { f.main->EraseNode(f.main->CallFunction("f", {f.x})); }},
  };
  for (const auto& [what, change] : changes) {
    Fixture f;
    change(f);
    EXPECT_EQ(f.Hash(), expected) << what;
    EXPECT_EQ(f.Hash(true), expected_metas) << what;
  }
  const auto clone = Fixture().module.Clone();
  EXPECT_EQ(CanonicalHash(*clone), expected);
  EXPECT_EQ(CanonicalHash(*clone, {.metas = true}), expected_metas);
}

// The order in which a module lists its graphs and attributes does not belong to the structure.
TEST(CanonicalHashTest, OrderOfDeclarationDoesNotCount) {
  std::map<std::string, int> hashes;
  for (const bool swapped : {false, true}) {
    Module m;
    Graph* main = m.AddGraph("forward");
    Graph* bodies[2];
    for (int i : {0, 1}) bodies[swapped ? 1 - i : i] = m.AddGraph("body");
    for (const char* name : {"w", "v"})
      m.AddAttribute({.name = swapped == (name[0] == 'w') ? "a" : "b"});
    bodies[0]->Output(0);
    bodies[1]->Output(1);
    Node* first = main->GetAttr(swapped ? "b" : "a");
    Node* second = main->GetAttr(swapped ? "a" : "b");
    main->Output(main->CallFunction("torch.cond", {bodies[0], bodies[1], first, second}));
    ++hashes[CanonicalHash(m)];
  }
  EXPECT_EQ(hashes.size(), 1u);
}

// Equal subexpressions and aggregates hash alike, whether or not they are one object.
TEST(CanonicalHashTest, SharingDoesNotCount) {
  std::map<std::string, int> hashes;
  for (const bool shared : {false, true}) {
    Module m;
    const SymExpr* s0 = m.SymSymbol("s0");
    const SymExpr* other = shared ? s0 : m.SymSymbol("s0");
    Graph* main = m.AddGraph("forward");
    Node* x = main->Placeholder("x");
    TensorMeta meta;
    const std::vector<Dim> shape = {other};
    meta.has_shape = true;
    meta.shape = shape;
    const ValueMeta* value = m.InternValueMeta(meta);
    ValueMeta* same = m.arena().New<ValueMeta>(*value);
    x->set_meta(m.InternTupleMeta({value, shared ? value : same}));
    main->Output(Argument::List({m.SymBinary(Kind::kAdd, s0, other), x}));
    ++hashes[CanonicalHash(m, {.metas = true})];
  }
  EXPECT_EQ(hashes.size(), 1u);
}

// All of these differ from the fixture and from each other.
TEST(CanonicalHashTest, StructureCounts) {
  const auto with_args = [](int i, auto make) {
    return [=](Fixture& f) {
      std::vector<Argument> args(f.call->args().begin(), f.call->args().end());
      std::vector<Argument> storage = make(f);
      const size_t slot = static_cast<size_t>(i);
      // One value replaces the argument; more are the elements of a list.
      args[slot] = storage.size() == 1 ? storage[0] : Argument::List(storage);
      f.call->set_args(args);
    };
  };
  const auto literal = [&](int i, Argument value) {
    return with_args(i, [=](Fixture&) { return std::vector<Argument>{value}; });
  };
  const std::pair<const char*, std::function<void(Fixture&)>> changes[] = {
      {"nothing", [](Fixture&) {}},
      {"function", [](Fixture& f) { f.call->set_target("g"); }},
      {"method", [](Fixture& f) { f.method->set_target("reshape"); }},
      {"module", [](Fixture& f) { f.layer->set_target("other"); }},
      {"a node more", [](Fixture& f) {
         InsertionGuard guard(f.main, f.output);
         f.main->CallFunction("f", {});
       }},
      {"a placeholder more", [](Fixture& f) {
         InsertionGuard guard(f.main, f.w);
         f.main->Placeholder("z");
       }},
      {"order of unused nodes", [](Fixture& f) { f.main->MoveBefore(f.v, f.w); }},
      {"operand", [](Fixture& f) { f.method->SetOperand(1, f.y); }},
      {"operand in an aggregate", [](Fixture& f) { f.output->SetOperand(1, f.y); }},
      {"attributes that are one", [](Fixture& f) { f.v->set_target("w"); }},
      {"int", literal(1, 2)},
      {"negative int", literal(1, -1)},
      {"bool for int", literal(1, true)},
      {"float for int", literal(1, 1.0)},
      {"none for int", literal(1, Argument())},
      {"ellipsis for int", literal(1, Argument::Ellipsis())},
      {"string for int", literal(1, "1")},
      {"float", literal(2, 2.25)},
      {"zero", literal(2, 0.0)},
      {"minus zero", literal(2, -0.0)},
      {"bool", literal(3, false)},
      {"string", literal(5, "texts")},
      {"empty string", literal(5, "")},
      {"dtype", literal(7, DType::kInt16)},
      {"device type", literal(8, Device{DeviceType::kCpu, 0})},
      {"device index", literal(8, Device{DeviceType::kCuda, 1})},
      {"no device index", literal(8, Device{DeviceType::kCuda, -1})},
      {"layout", literal(9, Layout::kJagged)},
      {"memory format", literal(10, MemoryFormat::kChannelsLast)},
      {"real part", with_args(11, [](Fixture& f) { return std::vector{f.module.Complex({0, 2})}; })},
      {"imaginary part", with_args(11, [](Fixture& f) { return std::vector{f.module.Complex({1, 1})}; })},
      {"list for tuple", [](Fixture& f) {
         const std::vector<Argument> elements = {f.layer, f.x};
         f.output->set_args({Argument::List(elements)});
       }},
      {"elements", with_args(12, [](Fixture& f) { return std::vector<Argument>{f.w, f.v, 3}; })},
      {"empty list", literal(13, Argument::List({}))},
      {"empty tuple", literal(13, Argument::Tuple({}))},
      {"empty dict", literal(13, Argument::Dict({}))},
      {"expression", with_args(15, [](Fixture& f) {
         return std::vector<Argument>{f.module.SymBinary(Kind::kSub, f.s0, f.module.SymInt(1))};
       })},
      {"number in an expression", with_args(15, [](Fixture& f) {
         return std::vector<Argument>{f.module.SymBinary(Kind::kAdd, f.s0, f.module.SymInt(2))};
       })},
      {"order in an expression", with_args(15, [](Fixture& f) {
         return std::vector<Argument>{f.module.SymBinary(Kind::kAdd, f.module.SymInt(1), f.s0)};
       })},
      {"sign in an expression", with_args(15, [](Fixture& f) {
         return std::vector<Argument>{
             f.module.SymBinary(Kind::kAdd, f.module.SymNeg(f.s0), f.module.SymInt(1))};
       })},
      {"symbols that are one", with_args(16, [](Fixture& f) { return std::vector<Argument>{f.s0}; })},
      {"keyword name", [](Fixture& f) { f.call->set_kwargs({{"c", f.x}, {"b", 1}}); }},
      {"keyword value", [](Fixture& f) { f.call->set_kwargs({{"a", f.x}, {"b", 2}}); }},
      {"keyword order", [](Fixture& f) { f.call->set_kwargs({{"b", 1}, {"a", f.x}}); }},
      {"no keywords", [](Fixture& f) { f.call->set_kwargs({}); }},
      {"node in a body", [](Fixture& f) { f.body->last()->prev()->set_target("k"); }},
      {"bodies swapped", [](Fixture& f) { f.cond->set_args({f.call, f.other_body, f.body}); }},
      {"bodies that are one", [](Fixture& f) { f.cond->set_args({f.call, f.body, f.body}); }},
      {"arguments moved to another node", [](Fixture& f) {
         f.method->set_args({f.cond});
         f.layer->set_args({f.x, f.method});
       }},
  };
  std::map<std::string, const char*> seen;
  for (const auto& [what, change] : changes) {
    for (const bool metas : {false, true}) {
      Fixture f;
      change(f);
      const auto [it, inserted] = seen.emplace(f.Hash(metas), what);
      EXPECT_TRUE(inserted) << what << " gives the hash of " << it->second;
    }
  }
}

TEST(CanonicalHashTest, MetasCountOnRequest) {
  const auto meta = [](auto change) {
    return [=](Fixture& f) {
      TensorMeta meta = *f.x->tensor_meta();
      std::vector<Dim> shape(meta.shape.begin(), meta.shape.end());
      change(meta, shape, f);
      meta.shape = shape;
      f.x->set_meta(f.module.InternValueMeta(meta));
    };
  };
  const std::pair<const char*, std::function<void(Fixture&)>> changes[] = {
      {"dtype", meta([](TensorMeta& m, auto&, Fixture&) { m.dtype = DType::kInt8; })},
      {"device", meta([](TensorMeta& m, auto&, Fixture&) { m.device.index = 3; })},
      {"no device", meta([](TensorMeta& m, auto&, Fixture&) { m.has_device = false; })},
      {"no shape", meta([](TensorMeta& m, auto&, Fixture&) { m.has_shape = false; })},
      {"size", meta([](TensorMeta&, auto& shape, Fixture&) { shape[0] = 3; })},
      {"rank", meta([](TensorMeta&, auto& shape, Fixture&) { shape.push_back(1); })},
      {"scalar", meta([](TensorMeta&, auto& shape, Fixture&) { shape.clear(); })},
      {"symbol", meta([](TensorMeta&, auto& shape, Fixture& f) { shape[1] = f.s0; })},
      {"unknown", [](Fixture& f) { f.x->set_meta(nullptr); }},
      {"tuple", [](Fixture& f) { f.x->set_meta(f.module.InternTupleMeta({f.x->meta()})); }},
      {"empty tuple", [](Fixture& f) { f.x->set_meta(f.module.InternTupleMeta({})); }},
      {"of a call", [](Fixture& f) { f.cond->set_meta(f.x->meta()); }},
      {"of an attribute",
       [](Fixture& f) {
         TensorMeta meta;
         f.module.AddAttribute({"v", &meta, "", nullptr});
       }},
  };
  std::map<std::string, const char*> seen = {{Fixture().Hash(true), "nothing"}};
  for (const auto& [what, change] : changes) {
    Fixture f;
    change(f);
    EXPECT_EQ(f.Hash(), Fixture().Hash()) << what;
    const auto [it, inserted] = seen.emplace(f.Hash(true), what);
    EXPECT_TRUE(inserted) << what << " gives the hash of " << it->second;
  }
}

// Nested arguments, long expressions and chains of bodies must not exhaust the stack.
TEST(CanonicalHashTest, NestingIsNoRecursion) {
  Module m;
  constexpr int kDepth = 200000;
  const SymExpr* left = m.SymSymbol("s0");
  const SymExpr* right = left;
  for (int i = 0; i < kDepth; ++i) {
    left = m.SymBinary(Kind::kAdd, left, m.SymInt(1));
    right = m.SymBinary(Kind::kAdd, m.SymInt(1), right);
  }
  Graph* graph = m.AddGraph("forward");
  graph->CallFunction("f", {left});
  m.AddRelation(right);
  for (int i = 0; i < kDepth; ++i) {
    Graph* body = m.AddGraph("body");
    graph->Output(graph->CallFunction("torch.vmap", {body}));
    graph = body;
  }
  graph->Output(1);
  const std::string hash = CanonicalHash(m);
  graph->last()->set_args({2});
  EXPECT_NE(CanonicalHash(m), hash);
}

// Graphs that do not verify have a hash, too: their bodies may reach themselves, and their operands
// may come later.
TEST(CanonicalHashTest, BrokenModulesDoNoHarm) {
  Module m;
  Graph* main = m.AddGraph("forward");
  Node* f = main->CallFunction("f", {main});
  Node* g = main->CallFunction("g", {f});
  f->set_args({main, g});
  EXPECT_EQ(CanonicalHash(m).size(), 64u);
}

TEST(CanonicalHashTest, AMillionNodes) {
  Module m;
  Graph* graph = m.AddGraph("forward");
  Node* x = graph->Placeholder("x");
  Node* value = x;
  const auto none = absl::Span<const KwArg>();
  for (int i = 0; i < 1000000; ++i) {
    value = UncheckedBuilder(graph).CreateNode(Op::kCallFunction, "torch.add", {value, x, i}, none,
                                               "n");
  }
  graph->Output(value);
  const std::string hash = CanonicalHash(m);
  value->SetOperand(1, value->args()[0].node());
  EXPECT_NE(CanonicalHash(m), hash);
}

}  // namespace
}  // namespace graphnet

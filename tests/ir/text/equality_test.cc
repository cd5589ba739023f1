#include "graphnet/ir/text/equality.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/unchecked_builder.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using testing::_;

constexpr auto kDifferent = absl::StatusCode::kFailedPrecondition;
constexpr EqualityOptions kStructure = {
    .names = false, .metas = false, .locations = false, .attribute_names = false};
constexpr EqualityOptions kDefault = {};

// A module in which each test below changes one thing.
struct Fixture {
  Fixture() {
    module.AddSymbol("s0", 4);
    relation = module.SymBinary(SymExpr::Kind::kLt, module.SymSymbol("s0"), module.SymInt(9));
    module.AddRelation(relation);
    module.AddAttribute({.name = "w", .annotation = "Parameter"});
    main = module.AddGraph("forward");
    body = module.AddGraph("body");
    x = main->Placeholder("x");
    w = main->GetAttr("w");
    call = main->CallFunction("f", {x, Argument::List({w, 1, module.SymSymbol("s0")}), body},
                              {{"k", 2.5}, {"l", x}});
    method = main->CallMethod("view", {call, x});
    output = main->Output(Argument::Tuple({method, x}));
    body_x = body->Placeholder("bx");
    body->Output(body->CallFunction("g", {body_x}));
    TensorMeta meta;
    meta.dtype = DType::kFloat32;
    x->set_meta(module.InternValueMeta(meta));
    call->set_meta(module.InternTupleMeta({x->meta()}));
  }

  // Gives `x` a meta. Null means that the shape or device is unknown.
  void SetMeta(DType dtype, const std::vector<Dim>* shape, const Device* device) {
    TensorMeta meta;
    meta.dtype = dtype;
    meta.has_shape = shape != nullptr;
    if (shape != nullptr) meta.shape = *shape;
    meta.has_device = device != nullptr;
    if (device != nullptr) meta.device = *device;
    x->set_meta(module.InternValueMeta(meta));
  }

  Module module;
  const SymExpr* relation;
  Graph *main, *body;
  Node *x, *w, *call, *method, *output, *body_x;
};

TEST(EqualityTest, EqualModules) {
  Fixture a;
  Fixture b;
  EXPECT_OK(CheckEqual(a.module, b.module, kExact));
  EXPECT_OK(CheckEqual(a.module, a.module, kExact));
  EXPECT_OK(CheckEqual(Module(), Module(), kExact));
}

// Each change has the message for the case that everything counts, and says whether it is seen with
// fewer options.
TEST(EqualityTest, EveryDifferenceIsNamed) {
  const struct {
    const char* what;
    std::function<void(Fixture&)> change;
    const char* message;
    bool by_default = true;    // True if it is seen with the default options.
    bool by_structure = true;  // True if it is seen with all options off.
  } cases[] = {
      {"op", [](Fixture& f) { f.main->CopyNodeFrom(*f.call, [](Node* n) { return n; }); },
       "graph forward: number of nodes differs: 5 against 6"},
      {"target", [](Fixture& f) { f.call->set_target("h"); },
       "graph forward, node f: target differs: f against h"},
      {"method", [](Fixture& f) { f.method->set_target("reshape"); },
       "graph forward, node view: target differs: view against reshape"},
      {"target of a placeholder", [](Fixture& f) { f.x->set_target("y"); },
       "graph forward, node x: target differs: x against y", true, false},
      {"node name", [](Fixture& f) { f.call->set_name("renamed"); },
       "graph forward, node f: name differs: f against renamed", false, false},
      {"graph name", [](Fixture& f) { f.module.RenameGraph(f.body, "other"); },
       "graph name differs: body against other", false, false},
      {"operand", [](Fixture& f) { f.call->SetOperand(0, f.w); },
       "graph forward, node f: argument 0 differs: %x against %w"},
      {"nested operand", [](Fixture& f) { f.call->SetOperand(1, f.x); },
       "graph forward, node f: argument 1 differs: [%w, 1, sym(s0)] against [%x, 1, sym(s0)]"},
      {"number of arguments", [](Fixture& f) { f.method->set_args({f.call}); },
       "graph forward, node view: number of arguments differs: 2 against 1"},
      {"kind of argument",
       [](Fixture& f) {
         f.output->set_args({Argument::List({f.method, f.x})});
       },
       "graph forward, node output: argument 0 differs: (%view, %x) against [%view, %x]"},
      {"size of argument", [](Fixture& f) { f.output->set_args({Argument::Tuple({f.method})}); },
       "graph forward, node output: argument 0 differs: (%view, %x) against (%view,)"},
      {"literal",
       [](Fixture& f) {
         f.call->set_args({f.x, Argument::List({f.w, 2, f.module.SymSymbol("s0")}), f.body});
       },
       "graph forward, node f: argument 1 differs: [%w, 1, sym(s0)] against [%w, 2, sym(s0)]"},
      {"symbol in an argument",
       [](Fixture& f) {
         f.call->set_args({f.x, Argument::List({f.w, 1, f.module.SymSymbol("s1")}), f.body});
       },
       "graph forward, node f: argument 1 differs: [%w, 1, sym(s0)] against [%w, 1, sym(s1)]"},
      {"keyword value",
       [](Fixture& f) {
         f.call->set_kwargs({{"k", 2.0}, {"l", f.x}});
       },
       "graph forward, node f: keyword argument k differs: 2.5 against 2.0"},
      {"keyword name",
       [](Fixture& f) {
         f.call->set_kwargs({{"m", 2.5}, {"l", f.x}});
       },
       "graph forward, node f: keyword differs: k against m"},
      {"keyword order",
       [](Fixture& f) {
         f.call->set_kwargs({{"l", f.x}, {"k", 2.5}});
       },
       "graph forward, node f: keyword differs: k against l"},
      {"number of keywords",
       [](Fixture& f) {
         f.call->set_kwargs({{"k", 2.5}});
       },
       "graph forward, node f: number of keyword arguments differs: 2 against 1"},
      {"order", [](Fixture& f) { f.main->MoveBefore(f.w, f.x); },
       "graph forward, node x: op differs: placeholder against get_attr"},
      {"in a body", [](Fixture& f) { f.body->last()->prev()->set_target("h"); },
       "graph body, node g: target differs: g against h"},
      {"number of graphs", [](Fixture& f) { f.module.AddGraph("more"); },
       "number of graphs differs: 2 against 3"},
      {"meta", [](Fixture& f) { f.x->set_meta(nullptr); },
       "graph forward, node x: meta differs: f32 against _", true, false},
      {"dtype", [](Fixture& f) { f.SetMeta(DType::kFloat16, nullptr, nullptr); },
       "graph forward, node x: dtype differs: f32 against f16", true, false},
      {"shape",
       [](Fixture& f) {
         const std::vector<Dim> shape = {2, f.module.SymSymbol("s0")};
         f.SetMeta(DType::kFloat32, &shape, nullptr);
       },
       "graph forward, node x: shape differs: f32 against f32[2, s0]", true, false},
      {"device",
       [](Fixture& f) {
         const Device device = {DeviceType::kCuda, 1};
         f.SetMeta(DType::kFloat32, nullptr, &device);
       },
       "graph forward, node x: device differs: f32 against f32@cuda:1", true, false},
      {"meta in a tuple",
       [](Fixture& f) {
         f.call->set_meta(f.module.InternTupleMeta({f.x->meta(), f.x->meta()}));
       },
       "graph forward, node f: meta differs: (f32,) against (f32, f32)", true, false},
      {"unknown meta in a tuple",
       [](Fixture& f) {
         f.call->set_meta(f.module.InternTupleMeta({f.module.arena().New<ValueMeta>()}));
       },
       "graph forward, node f: meta differs: (f32,) against (_,)", true, false},
      {"annotation", [](Fixture& f) { f.x->set_annotation("T"); },
       "graph forward, node x: annotation differs:  against T", true, false},
      {"draw spec", [](Fixture& f) { f.x->set_draw_spec({}); },
       "graph forward, node x: draw spec differs: none against {}", true, false},
      {"file",
       [](Fixture& f) {
         f.x->set_location({"m.py", 0, 0});
       },
       "graph forward, node x: location differs: :0:0 against m.py:0:0", false, false},
      {"line",
       [](Fixture& f) {
         f.x->set_location({"", 3, 0});
       },
       "graph forward, node x: location differs: :0:0 against :3:0", false, false},
      {"column",
       [](Fixture& f) {
         f.x->set_location({"", 0, 4});
       },
       "graph forward, node x: location differs: :0:0 against :0:4", false, false},
      {"module path", [](Fixture& f) { f.x->set_module_path("a.b"); },
       "graph forward, node x: module path differs:  against a.b", false, false},
      {"number of symbols", [](Fixture& f) { f.module.AddSymbol("s1", 1); },
       "number of symbols differs: 1 against 2", true, false},
      {"example", [](Fixture& f) { f.module.AddSymbol("s0", 5); },
       "example of symbol s0 differs: 4 against 5", true, false},
      {"no example", [](Fixture& f) { f.module.AddSymbol("s0", std::nullopt); },
       "example of symbol s0 differs: 4 against none", true, false},
      {"number of relations", [](Fixture& f) { f.module.AddRelation(f.relation); },
       "number of relations differs: 1 against 2", true, false},
      {"number of attributes", [](Fixture& f) { f.module.AddAttribute({.name = "v"}); },
       "number of attributes differs: 1 against 2"},
      {"attribute name",
       [](Fixture& f) {
         f.module.EraseAttribute("w");
         f.module.AddAttribute({.name = "v", .annotation = "Parameter"});
         f.w->set_target("v");
       },
       "attribute differs: w against v", true, false},
      {"attribute annotation", [](Fixture& f) { f.module.AddAttribute({.name = "w"}); },
       "attribute w: annotation differs: Parameter against ", true, false},
      {"attribute meta",
       [](Fixture& f) {
         TensorMeta meta;
         f.module.AddAttribute({"w", &meta, "Parameter", nullptr});
       },
       "attribute w: meta differs: _ against ?", true, false},
      {"attribute draw spec",
       [](Fixture& f) {
         DrawSpec spec;
         spec.min = 1;
         f.module.AddAttribute({"w", nullptr, "Parameter", &spec});
       },
       "attribute w: draw spec differs: none against {min = 1}", true, false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    Fixture a;
    Fixture b;
    c.change(b);
    EXPECT_THAT(CheckEqual(a.module, b.module, kExact), StatusIs(kDifferent, c.message));
    EXPECT_EQ(!CheckEqual(a.module, b.module, kDefault).ok(), c.by_default);
    EXPECT_EQ(!CheckEqual(a.module, b.module, kStructure).ok(), c.by_structure);
    // The order of the modules makes no difference.
    EXPECT_EQ(!CheckEqual(b.module, a.module, kExact).ok(), true);
    EXPECT_EQ(!CheckEqual(b.module, a.module, kStructure).ok(), c.by_structure);
  }
}

TEST(EqualityTest, ADifferentRelationIsSeen) {
  Module a;
  Module b;
  for (Module* m : {&a, &b}) {
    m->AddRelation(m->SymBinary(SymExpr::Kind::kLt, m->SymInt(1), m->SymInt(m == &a ? 2 : 3)));
  }
  EXPECT_THAT(CheckEqual(a, b), StatusIs(kDifferent, "relation 0 differs: 1 < 2 against 1 < 3"));
}

// Long texts are cut before the first difference.
TEST(EqualityTest, LongDifferencesAreShownWhereTheyAre) {
  const auto make = [](int value, Module& m) {
    std::vector<Argument> numbers(1000, Argument(7));
    numbers[900] = value;
    m.AddGraph("forward")->Output(Argument::List(numbers));
  };
  Module a;
  Module b;
  make(1, a);
  make(2, b);
  EXPECT_THAT(
      CheckEqual(a, b),
      StatusIs(kDifferent, testing::MatchesRegex("graph forward, node output: argument 0 differs: "
                                                 "\\.\\.\\.[7, ]{20}1, [7, ]*\\.\\.\\. against "
                                                 "\\.\\.\\.[7, ]{20}2, [7, ]*\\.\\.\\.")));
}

// Bodies are paired by the arguments that refer to them, not by their order or names.
TEST(EqualityTest, GraphsArePairedByReference) {
  const auto make = [](bool swapped, Module& m) {
    Graph* main = m.AddGraph("forward");
    Graph* bodies[2];
    for (int i : {0, 1}) bodies[swapped ? 1 - i : i] = m.AddGraph("body");
    bodies[0]->Output(0);
    bodies[1]->Output(1);
    main->Output(main->CallFunction("torch.cond", {bodies[0], bodies[1]}));
  };
  Module a;
  Module b;
  make(false, a);
  make(true, b);
  EXPECT_OK(CheckEqual(a, b));
  EXPECT_THAT(CheckEqual(a, b, kExact),
              StatusIs(kDifferent, "graph name differs: body against body_1"));
}

// One body that is used twice differs from two equal bodies, whichever side has it.
TEST(EqualityTest, SharedBodiesAreSeen) {
  const auto make = [](bool shared, Module& m) {
    Graph* main = m.AddGraph("forward");
    Graph* first = m.AddGraph("body");
    Graph* second = m.AddGraph("body");
    first->Output(0);
    second->Output(0);
    main->Output(main->CallFunction("torch.cond", {first, shared ? first : second}));
  };
  Module a;
  Module b;
  make(false, a);
  make(true, b);
  EXPECT_THAT(CheckEqual(a, b), StatusIs(kDifferent, _));
  EXPECT_THAT(CheckEqual(b, a), StatusIs(kDifferent, _));
}

// Graphs without references are compared, too.
TEST(EqualityTest, UnusedGraphsAreCompared) {
  const auto make = [](int value, Module& m) {
    m.AddGraph("forward")->Output(0);
    m.AddGraph("unused")->Output(1);
    m.AddGraph("unused")->Output(value);
  };
  Module a;
  Module b;
  Module c;
  make(2, a);
  make(3, b);
  make(2, c);
  EXPECT_THAT(CheckEqual(a, b), StatusIs(kDifferent,
                                         "graph unused_1, node output: argument 0 differs: "
                                         "2 against 3"));
  EXPECT_OK(CheckEqual(a, c));
}

TEST(EqualityTest, NamesInMessagesAreEscaped) {
  Fixture a;
  Fixture b;
  UncheckedBuilder(a.main).SetName(a.x, "a\nb");
  EXPECT_THAT(CheckEqual(a.module, b.module, kExact),
              StatusIs(kDifferent, "graph forward, node a\\nb: name differs: a\\nb against x"));
}

TEST(SampleEqualityTest, EveryFieldCounts) {
  const auto make = [] {
    auto sample = std::make_unique<Sample>();
    sample->module = std::make_unique<Module>();
    sample->module->AddGraph("forward")->Output(0);
    sample->provenance.push_back({"parent", "hash", 1, 2});
    return sample;
  };
  const std::pair<const char*, std::function<void(Sample&)>> cases[] = {
      {"name", [](Sample& s) { s.name = "x"; }},
      {"graph_net_json", [](Sample& s) { s.graph_net_json = "{}"; }},
      {"graph_hash", [](Sample& s) { s.graph_hash = "0"; }},
      {"has_constraints", [](Sample& s) { s.has_constraints = true; }},
      {"constraint_order", [](Sample& s) { s.constraint_order = {"x"}; }},
      {"extra_files", [](Sample& s) { s.extra_files["a"] = "b"; }},
      {"provenance", [](Sample& s) { s.provenance.clear(); }},
      {"provenance", [](Sample& s) { s.provenance[0].parent = "x"; }},
      {"provenance", [](Sample& s) { s.provenance[0].parent_hash = "x"; }},
      {"provenance", [](Sample& s) { s.provenance[0].start = 0; }},
      {"provenance", [](Sample& s) { s.provenance[0].end = 0; }},
      {"module", [](Sample& s) { s.module = nullptr; }},
  };
  for (const auto& [field, change] : cases) {
    const auto a = make();
    const auto b = make();
    EXPECT_OK(CheckEqual(*a, *b));
    change(*b);
    const std::string message = std::string("sample field ") + field + " differs";
    EXPECT_THAT(CheckEqual(*a, *b), StatusIs(kDifferent, message));
    EXPECT_THAT(CheckEqual(*b, *a), StatusIs(kDifferent, message));
  }
  EXPECT_OK(CheckEqual(Sample(), Sample()));
  const auto a = make();
  const auto b = make();
  b->module->main()->last()->set_args({1});
  EXPECT_THAT(CheckEqual(*a, *b), StatusIs(kDifferent, _));
  // CheckEqual ignores weights; code that knows tensors compares them.
  b->module->main()->last()->set_args({0});
  b->weights["w"] = {};
  EXPECT_OK(CheckEqual(*a, *b));
}

}  // namespace
}  // namespace graphnet

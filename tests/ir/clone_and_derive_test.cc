// Copies of modules: clones, and modules that derive from another.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/unchecked_builder.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using testing::IsEmpty;

// Makes a module with one of everything.
std::unique_ptr<Module> MakeRichModule() {
  auto module = std::make_unique<Module>();
  module->AddSymbol("s0", 4);
  module->AddSymbol("s1", std::nullopt);
  const SymExpr* s0 = module->SymSymbol("s0");
  const SymExpr* sum =
      module->SymBinary(SymExpr::Kind::kAdd, s0, module->SymNeg(module->SymInt(1)));
  module->AddRelation(module->SymBinary(SymExpr::Kind::kLt, sum, module->SymSymbol("s1")));
  TensorMeta meta;
  meta.dtype = DType::kFloat32;
  meta.has_device = meta.has_shape = true;
  meta.device = {DeviceType::kCuda, 0};
  const std::vector<Dim> shape = {s0};
  meta.shape = shape;
  DrawSpec spec;
  const std::vector<Argument> data = {1, 2.5, true, 0};
  spec.data = Argument::List(data);
  spec.has_mean = true;
  spec.mean = 0.25;
  spec.original_name = "L_x_";
  module->AddAttribute({"w", module->InternMeta(meta), "torch.nn.parameter.Parameter", &spec});
  module->AddAttribute({.name = "unused"});

  Graph* main = module->AddGraph("forward");
  Graph* outer = module->AddGraph("outer");
  Graph* inner = module->AddGraph("inner");
  for (Graph* graph : {inner, outer}) {
    Node* a = graph->Placeholder("a");
    Node* b = graph == outer
                  ? graph->CallFunction("torch.cond", {a, inner, inner, Argument::List({a})})
                  : graph->CallMethod("neg", {a});
    graph->Output(Argument::Tuple({a, b}));
  }
  Node* x = main->Placeholder("L_x_");
  x->set_meta(module->InternValueMeta(meta));
  x->set_draw_spec(spec);
  x->set_annotation("torch.Tensor");
  Node* w = main->GetAttr("w");
  Node* call = main->CallFunction(
      "torch.vmap", {outer, Argument::Tuple({x, Argument::List({w, sum, "s", 1.5})})},
      {{"device", Device{DeviceType::kCpu, -1}}, {"c", module->Complex({1, -1})}}, "odd");
  UncheckedBuilder(main).SetName(call, "odd name-1");
  call->set_location({"model.py", 10, 3});
  call->set_module_path("layer1");
  call->set_meta(module->InternTupleMeta({x->meta(), module->InternTupleMeta({})}));
  Node* item = main->CallFunction("operator.getitem", {call, 0});
  main->Output(item);
  // This node is made last and placed first.
  main->MoveBefore(main->Placeholder("y"), main->first());
  return module;
}

TEST(CloneTest, IsEqualInEverything) {
  auto module = MakeRichModule();
  ASSERT_OK(Verify(*module));
  const std::unique_ptr<Module> clone = module->Clone();
  EXPECT_OK(Verify(*clone));
  EXPECT_OK(CheckEqual(*module, *clone, kExact));
  const std::unique_ptr<Module> again = clone->Clone();
  module.reset();  // The clone refers to nothing in it.
  EXPECT_OK(CheckEqual(*clone, *again, kExact));
  EXPECT_OK(CheckEqual(*MakeRichModule(), *clone, kExact));
}

TEST(CloneTest, SharesNothing) {
  auto module = MakeRichModule();
  const auto clone = module->Clone();
  for (Node* node : clone->main()->nodes()) {
    if (node->is_call()) node->set_name(absl::StrCat("renamed_", node->name()));
    if (node->is_output()) node->set_args({clone->main()->first()});
  }
  clone->AddSymbol("s0", 77);
  clone->EraseAllAttributes();
  EXPECT_OK(Verify(*module));
  EXPECT_OK(CheckEqual(*module, *MakeRichModule(), kExact));
}

TEST(CloneTest, AnEmptyModule) { EXPECT_THAT(Module().Clone()->graphs(), IsEmpty()); }

// --- Derived modules ----------------------------------------------------------------

// Copies graphs and tables.
void CopyAll(const Module& from, Module* to) {
  for (const Symbol& symbol : from.symbols()) to->AddSymbol(symbol.name, symbol.example);
  for (const SymExpr* relation : from.relations()) to->AddRelation(to->CopySym(relation));
  for (const Attribute& attribute : from.attributes()) to->AddAttribute(attribute);
  std::map<const Graph*, Graph*> graphs;
  for (const Graph* graph : from.graphs()) graphs[graph] = to->AddGraph(graph->name());
  for (const Graph* graph : from.graphs()) {
    std::map<const Node*, Node*> nodes;
    for (Node* node : graph->nodes()) {
      nodes[node] = UncheckedBuilder(graphs.at(graph))
                        .CopyNode(
                            *node, [&](Node* n) { return nodes.at(n); },
                            [&](Graph* g) { return graphs.at(g); });
    }
  }
}

TEST(DeriveFromTest, OutlivesItsParents) {
  auto parent = MakeRichModule();
  auto child = Module::DeriveFrom(*parent);
  CopyAll(*parent, child.get());
  auto grandchild = Module::DeriveFrom(*child);
  CopyAll(*child, grandchild.get());
  parent.reset();
  child.reset();
  EXPECT_OK(Verify(*grandchild));
  EXPECT_OK(CheckEqual(*MakeRichModule(), *grandchild, kExact));
}

TEST(DeriveFromTest, TakesLessMemoryThanACopy) {
  const auto parent = MakeRichModule();
  const auto child = Module::DeriveFrom(*parent);
  CopyAll(*parent, child.get());
  EXPECT_EQ(child->main()->first()->name().data(), parent->main()->first()->name().data());
  EXPECT_LT(child->MemoryBytes(), parent->Clone()->MemoryBytes());
}

TEST(DeriveFromTest, ChangesOfOneDoNotReachTheOther) {
  const auto parent = MakeRichModule();
  const auto child = Module::DeriveFrom(*parent);
  CopyAll(*parent, child.get());
  const auto change = [](Module* module) {
    for (Node* node : module->main()->nodes()) {
      if (node->is_call()) node->set_name(absl::StrCat("renamed_", node->name()));
      if (node->is_placeholder()) node->set_annotation("changed");
      if (node->is_output()) node->set_args({module->main()->first()});
    }
    module->AddSymbol("s0", 77);
    module->EraseAllAttributes();
  };
  change(child.get());
  EXPECT_OK(CheckEqual(*parent, *MakeRichModule(), kExact));
  const auto another = Module::DeriveFrom(*parent);
  CopyAll(*parent, another.get());
  change(parent.get());
  EXPECT_OK(CheckEqual(*another, *MakeRichModule(), kExact));
}

// If a parent interns something after the child was made, the child may have an equal at another
// address.
TEST(DeriveFromTest, EqualThingsShareAnAddress) {
  Module parent;
  TensorMeta meta;
  meta.dtype = DType::kInt64;
  const ValueMeta* before = parent.InternValueMeta(meta);
  const absl::string_view* text = parent.InternTarget("before");
  const auto child = Module::DeriveFrom(parent);
  EXPECT_EQ(child->InternValueMeta(meta), before);
  EXPECT_EQ(child->InternTarget("before"), text);
  meta.dtype = DType::kBool;
  const ValueMeta* own = child->InternValueMeta(meta);
  const ValueMeta* later = parent.InternValueMeta(meta);
  EXPECT_NE(own, later);
  EXPECT_EQ(child->InternValueMeta(meta), own);
  Node* x = parent.AddGraph("forward")->Placeholder("x");
  x->set_meta(later);
  Node* copy = child->AddGraph("forward")->CopyNodeFrom(*x, [](Node* node) { return node; });
  EXPECT_EQ(copy->meta(), own);
  EXPECT_EQ(UncheckedBuilder(child->AddGraph("other")).PlaceholderFor(*x, "y")->meta(), own);
}

TEST(DeriveFromTest, PlaceholderForNode) {
  Module parent;
  Graph* graph = parent.AddGraph("forward");
  Node* relu = graph->CallFunction("torch.relu", {graph->Placeholder("x")});
  TensorMeta meta;
  meta.dtype = DType::kInt64;
  relu->set_meta(parent.InternValueMeta(meta));
  relu->set_annotation("torch.Tensor");
  const auto child = Module::DeriveFrom(parent);
  Module stranger;
  for (Module* module : {child.get(), &stranger}) {
    Node* port = UncheckedBuilder(module->AddGraph("forward")).PlaceholderFor(*relu, "in");
    EXPECT_TRUE(port->is_placeholder());
    EXPECT_EQ(port->name(), "relu");
    EXPECT_EQ(port->target(), "in");
    EXPECT_EQ(port->annotation(), "torch.Tensor");
    EXPECT_EQ(*port->tensor_meta(), meta);
    EXPECT_EQ(module->main()->FindNode("relu"), port);
    module->main()->Output(port);
    EXPECT_OK(Verify(*module));
  }
  EXPECT_EQ(graph->num_nodes(), 2u);
}

}  // namespace
}  // namespace graphnet

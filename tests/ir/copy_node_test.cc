// Copies of single nodes, also into other modules.
#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/unchecked_builder.h"
#include "gtest/gtest.h"
#include "tests/ir/graph_fixture.h"

namespace graphnet {
namespace {

using testing::ElementsAre;

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

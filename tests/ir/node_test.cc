#include "graphnet/ir/node.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Returns the uses as pairs, in a fixed order.
std::vector<std::pair<std::string, int>> UsesOf(const Node* node) {
  std::vector<std::pair<std::string, int>> out;
  for (const Use& use : node->uses()) out.emplace_back(use.user->name(), use.operand);
  std::sort(out.begin(), out.end());
  return out;
}

std::pair<std::string, int> UseAt(const char* user, int operand) { return {user, operand}; }

using Kind = Argument::Kind;

// Returns "f(%x, k = 1)".
std::string PrintNode(const Node* node) {
  const std::string statement = graphnet::PrintNode(*node);
  return statement.substr(statement.find(" = ") + 3);
}

// A module that is verified at the end of each test.
class NodeTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_OK(Verify(module_)); }

  Module module_;
  Graph* graph_ = module_.AddGraph("forward");
  Node* x_ = graph_->Placeholder("x");
  Node* y_ = graph_->Placeholder("y");
};

TEST_F(NodeTest, KnowsItsOp) {
  module_.AddAttribute({.name = "weight"});
  Node* weight = graph_->GetAttr("weight");
  Node* relu = graph_->CallFunction("torch.relu", {x_});
  Node* view = graph_->CallMethod("view", {relu, -1});
  Node* conv = graph_->CallModule("layer1.0.conv1", {view});
  Node* output = graph_->Output(conv);
  const struct {
    Node* node;
    absl::string_view op, name, target;
    bool is_placeholder, is_call, is_output;
  } cases[] = {
      {x_, "placeholder", "x", "x", true, false, false},
      {weight, "get_attr", "weight", "weight", false, false, false},
      {relu, "call_function", "relu", "torch.relu", false, true, false},
      {view, "call_method", "view", "view", false, true, false},
      {conv, "call_module", "layer1_0_conv1", "layer1.0.conv1", false, true, false},
      {output, "output", "output", "output", false, false, true},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(OpName(c.node->op()), c.op);
    EXPECT_EQ(c.node->name(), c.name);
    EXPECT_EQ(c.node->target(), c.target);
    EXPECT_EQ(c.node->is_placeholder(), c.is_placeholder) << c.op;
    EXPECT_EQ(c.node->is_call(), c.is_call) << c.op;
    EXPECT_EQ(c.node->is_output(), c.is_output) << c.op;
    EXPECT_EQ(c.node->graph(), graph_);
  }
  EXPECT_TRUE(relu->is_call_function("torch.relu"));
  EXPECT_FALSE(relu->is_call_function("torch.gelu"));
  EXPECT_FALSE(relu->is_call_method("torch.relu"));
  EXPECT_TRUE(view->is_call_method("view"));
  EXPECT_FALSE(view->is_call_function("view"));
  view->set_target("reshape");
  EXPECT_TRUE(view->is_call_method("reshape"));
}

TEST_F(NodeTest, KeywordsAreFoundByName) {
  Node* sum = graph_->CallFunction("torch.sum", {x_}, {{"dim", 1}, {"keepdim", true}});
  ASSERT_NE(sum->kwarg("keepdim"), nullptr);
  EXPECT_TRUE(sum->kwarg("keepdim")->boolean());
  EXPECT_EQ(sum->kwarg("dtype"), nullptr);
  sum->set_kwargs({});
  EXPECT_THAT(sum->kwargs(), IsEmpty());
  graph_->Output(sum);
}

// add(x, x) uses x twice.
TEST_F(NodeTest, AUseIsAUserAndAnOperandIndex) {
  Node* add = graph_->CallFunction("operator.add", {x_, x_});
  EXPECT_THAT(UsesOf(x_), ElementsAre(UseAt("add", 0), UseAt("add", 1)));
  EXPECT_THAT(x_->users(), ElementsAre(add));
  EXPECT_EQ(x_->num_uses(), 2);

  add->SetOperand(1, y_);
  EXPECT_THAT(UsesOf(x_), ElementsAre(UseAt("add", 0)));
  EXPECT_THAT(UsesOf(y_), ElementsAre(UseAt("add", 1)));
  EXPECT_EQ(add->args()[0].node(), x_);
  EXPECT_EQ(add->args()[1].node(), y_);
  graph_->Output(add);
}

TEST_F(NodeTest, OperandsAreCountedThroughAggregatesAndKeywords) {
  Node* call =
      graph_->CallFunction("f", {1, Argument::List({x_, Argument::Tuple({2, y_}), x_}), "s", y_},
                           {{"a", 3},
                            {"b", Argument::Slice({Argument(), x_, Argument()})},
                            {"c", Argument::Dict({"k", y_})}});
  EXPECT_THAT(call->operands(), ElementsAre(x_, y_, x_, y_, x_, y_));
  EXPECT_THAT(UsesOf(x_), ElementsAre(UseAt("f", 0), UseAt("f", 2), UseAt("f", 4)));
  EXPECT_THAT(UsesOf(y_), ElementsAre(UseAt("f", 1), UseAt("f", 3), UseAt("f", 5)));
  for (int i = 0; i < 6; ++i) {
    call->SetOperand(i, i < 3 ? y_ : x_);
    EXPECT_EQ(call->operands()[i], i < 3 ? y_ : x_);
  }
  EXPECT_THAT(call->operands(), ElementsAre(y_, y_, y_, x_, x_, x_));
  EXPECT_EQ(call->args()[1].elements()[1].elements()[0].integer(), 2);
  graph_->Output(call);
}

TEST_F(NodeTest, UsersComeOnceAndInOrder) {
  Node* first = graph_->CallFunction("f", {x_});
  Node* second = graph_->CallFunction("f", {x_, x_});
  Node* third = graph_->CallFunction("f", {Argument::List({x_, x_, x_})});
  graph_->MoveBefore(third, first);
  EXPECT_THAT(x_->users(), ElementsAre(third, first, second));
  EXPECT_EQ(x_->num_uses(), 6);
  graph_->Output(Argument::Tuple({first, second, third}));
}

TEST_F(NodeTest, SetArgsMovesTheUses) {
  Node* f = graph_->CallFunction("f", {x_, x_});
  f->set_args({y_});
  EXPECT_FALSE(x_->has_uses());
  EXPECT_THAT(UsesOf(y_), ElementsAre(UseAt("f", 0)));
  f->set_args({1, y_, Argument::List({x_, y_}), "s"});
  EXPECT_THAT(UsesOf(x_), ElementsAre(UseAt("f", 1)));
  EXPECT_THAT(UsesOf(y_), ElementsAre(UseAt("f", 0), UseAt("f", 2)));
  f->set_args({});
  EXPECT_THAT(f->args(), IsEmpty());
  EXPECT_FALSE(x_->has_uses());
  EXPECT_FALSE(y_->has_uses());
  graph_->Output(f);
}

TEST_F(NodeTest, SetKwargsMovesTheUses) {
  Node* f = graph_->CallFunction("f", {x_}, {{"a", x_}});
  f->set_kwargs({{"b", y_}, {"c", Argument::Tuple({x_, y_})}});
  EXPECT_THAT(UsesOf(x_), ElementsAre(UseAt("f", 0), UseAt("f", 2)));
  EXPECT_THAT(UsesOf(y_), ElementsAre(UseAt("f", 1), UseAt("f", 3)));
  EXPECT_EQ(f->kwarg("a"), nullptr);
  graph_->Output(f);
}

// Arguments read from a node may be passed to it again, or to another node.
TEST_F(NodeTest, TakesItsOwnArgumentsBack) {
  Node* f = graph_->CallFunction("f", {x_, Argument::List({y_, Argument::Tuple({x_})}), "text"},
                                 {{"k", Argument::List({y_})}, {"l", 1}});
  f->set_args(f->args());
  f->set_kwargs(f->kwargs());
  EXPECT_THAT(f->operands(), ElementsAre(x_, y_, x_, y_));
  f->set_args(f->args().subspan(1));
  EXPECT_THAT(f->operands(), ElementsAre(y_, x_, y_));
  EXPECT_EQ(f->args()[1].string(), "text");
  f->set_args({f->args()[0], f->args()[0], f->args()[1], f->args()[0].elements()[0]});
  EXPECT_THAT(f->operands(), ElementsAre(y_, x_, y_, x_, y_, y_));
  // The two lists are separate.
  f->SetOperand(0, x_);
  EXPECT_THAT(f->operands(), ElementsAre(x_, x_, y_, x_, y_, y_));

  Node* g = graph_->CallFunction("g", f->args(), f->kwargs());
  EXPECT_EQ(g->operands(), f->operands());
  g->ReplaceInput(x_, y_);
  EXPECT_THAT(f->operands(), ElementsAre(x_, x_, y_, x_, y_, y_));
  EXPECT_THAT(g->operands(), ElementsAre(y_, y_, y_, y_, y_, y_));
  f->set_kwargs(f->kwargs().subspan(1));
  EXPECT_EQ(f->kwarg("l")->integer(), 1);
  graph_->Output(Argument::List({f, g}));
}

TEST_F(NodeTest, ReplaceInputReplacesAllOfOneOperand) {
  Node* f = graph_->CallFunction("f", {x_, Argument::List({x_, y_})}, {{"k", x_}});
  f->ReplaceInput(x_, y_);
  EXPECT_FALSE(x_->has_uses());
  EXPECT_EQ(y_->num_uses(), 4);
  f->ReplaceInput(x_, y_);  // x is not an operand.
  f->ReplaceInput(y_, y_);
  EXPECT_THAT(UsesOf(y_), ElementsAre(UseAt("f", 0), UseAt("f", 1), UseAt("f", 2), UseAt("f", 3)));
  graph_->Output(f);
}

TEST_F(NodeTest, ReplaceAllUsesWith) {
  Node* f = graph_->CallFunction("f", {x_, y_, x_});
  Node* g = graph_->CallFunction("g", {Argument::List({x_})});
  x_->ReplaceAllUsesWith(x_);
  EXPECT_EQ(x_->num_uses(), 3);
  x_->ReplaceAllUsesWith(y_);
  EXPECT_FALSE(x_->has_uses());
  EXPECT_THAT(UsesOf(y_), ElementsAre(UseAt("f", 0), UseAt("f", 1), UseAt("f", 2), UseAt("g", 0)));
  x_->ReplaceAllUsesWith(y_);  // x has no uses.
  EXPECT_THAT(UsesOf(x_), IsEmpty());
  graph_->Output(Argument::Tuple({f, g}));
}

TEST_F(NodeTest, ReplaceUsesWithIf) {
  std::vector<Node*> users;
  for (int i = 0; i < 20; ++i) users.push_back(graph_->CallFunction("f", {x_, i, x_}));
  graph_->Output(Argument::List({x_}));
  int calls = 0;
  x_->ReplaceUsesWithIf(y_, [&](const Node* user) {
    ++calls;
    return user->is_call() && user->args()[1].integer() % 2 == 0;
  });
  EXPECT_EQ(calls, 41);
  EXPECT_EQ(x_->num_uses(), 21);
  EXPECT_EQ(y_->num_uses(), 20);
  for (int i = 0; i < 20; ++i) {
    Node* const wanted = i % 2 == 0 ? y_ : x_;
    EXPECT_THAT(users[i]->operands(), ElementsAre(wanted, wanted)) << i;
  }
  // Replacing a node by itself changes nothing, and the loop ends.
  calls = 0;
  x_->ReplaceUsesWithIf(x_, [&](const Node*) { return ++calls % 3 != 0; });
  EXPECT_EQ(calls, 21);
  EXPECT_EQ(x_->num_uses(), 21);
}

// Replacing must be linear in the uses: in quadratic time, 10^5 of them would take minutes.
TEST_F(NodeTest, ReplacesManyUsers) {
  constexpr int kUsers = 100000;
  for (int i = 0; i < kUsers; ++i) graph_->CallFunction("f", {x_});
  graph_->Output(x_);
  x_->ReplaceAllUsesWith(y_);
  EXPECT_EQ(y_->num_uses(), kUsers + 1);
  y_->ReplaceUsesWithIf(x_, [](const Node* user) { return user->is_call(); });
  EXPECT_EQ(x_->num_uses(), kUsers);
  EXPECT_EQ(x_->users().size(), static_cast<size_t>(kUsers));
  EXPECT_EQ(x_->uses().size(), static_cast<size_t>(kUsers));
  int i = 0;
  for (Node* user : x_->users()) user->SetOperand(0, i++ % 2 == 0 ? y_ : x_);
  EXPECT_EQ(x_->num_uses(), kUsers / 2);
  EXPECT_OK(Verify(module_));
  // Removes uses at the front, in the middle and at the end.
  for (Node* user : x_->users()) graph_->EraseNode(user);
  EXPECT_FALSE(x_->has_uses());
}

// It must also be linear for one user with many operands.
TEST_F(NodeTest, ReplacesManyOperands) {
  constexpr int kOperands = 100000;
  Node* cat =
      graph_->CallFunction("torch.cat", {Argument::List(std::vector<Argument>(kOperands, x_))});
  graph_->Output(cat);
  Node::Uses uses = x_->uses();
  std::sort(uses.begin(), uses.end(),
            [](const Use& a, const Use& b) { return a.operand < b.operand; });
  for (int i = 0; i < kOperands; ++i) ASSERT_EQ(uses[i].operand, i);
  cat->ReplaceInput(x_, y_);
  EXPECT_EQ(y_->num_uses(), kOperands);
  y_->ReplaceAllUsesWith(x_);
  EXPECT_EQ(x_->num_uses(), kOperands);
}

// The arrays that hold uses are recycled. An array must not be given out twice.
TEST_F(NodeTest, UseArraysAreRecycled) {
  std::vector<Node*> values;
  for (int i = 0; i < 50; ++i) values.push_back(graph_->CallFunction("value", {}));
  std::vector<Node*> users;
  for (int i = 0; i < 300; ++i) users.push_back(graph_->CallFunction("user", {}));
  graph_->Output(Argument::None());
  size_t reserved = 0;
  for (int round = 0; round < 60; ++round) {
    for (size_t i = 0; i < users.size(); ++i) {
      // Alternates between many values with few uses and few values with many.
      users[i]->set_args({values[i % (1 + round % 50)]});
    }
    ASSERT_OK(Verify(module_));
    if (round == 50) reserved = module_.arena().bytes_reserved();
  }
  EXPECT_EQ(module_.arena().bytes_reserved(), reserved);
  for (Node* user : users) user->set_args({});
  for (Node* value : values) EXPECT_FALSE(value->has_uses());
}

// Aggregates without nodes are shared between nodes. Those with nodes never are, since replacing an
// operand writes to them.
TEST_F(NodeTest, SharedAggregatesAreNeverWrittenThrough) {
  Node* f = graph_->CallFunction(
      "f", {Argument::List({1, 2}), Argument::List({x_, Argument::List({1, 2})})});
  Node* g = graph_->CallFunction(
      "g", {Argument::List({1, 2}), Argument::List({x_, Argument::List({1, 2})})});
  EXPECT_EQ(f->args()[0].elements().data(), g->args()[0].elements().data());
  EXPECT_EQ(f->args()[1].elements()[1].elements().data(), g->args()[0].elements().data());
  EXPECT_NE(f->args()[1].elements().data(), g->args()[1].elements().data());
  f->ReplaceInput(x_, y_);
  EXPECT_EQ(g->args()[1].elements()[0].node(), x_);
  EXPECT_EQ(f->args()[1].elements()[0].node(), y_);
  EXPECT_EQ(f->args()[0], Argument::List({1, 2}));
  graph_->Output(Argument::Tuple({f, g}));
}

TEST_F(NodeTest, RenamingKeepsNamesUnique) {
  Node* f = graph_->CallFunction("f", {x_});
  Node* g = graph_->CallFunction("g", {f});
  g->set_name("f");
  EXPECT_EQ(g->name(), "f_1");
  f->set_name("h");
  EXPECT_EQ(f->name(), "h");
  g->set_name("f");
  EXPECT_EQ(g->name(), "f");
  EXPECT_EQ(graph_->FindNode("f"), g);
  EXPECT_EQ(graph_->FindNode("h"), f);
  EXPECT_EQ(graph_->FindNode("f_1"), nullptr);
  f->set_name(f->name());
  EXPECT_EQ(f->name(), "h");
  f->set_name(absl::string_view(f->name()).substr(0, 0));
  EXPECT_EQ(f->name(), "_unnamed");
  graph_->Output(g);
}

// The new name becomes the node's own name when it is made an identifier.
TEST_F(NodeTest, RenamingToAVariantOfItsOwnName) {
  Node* f = graph_->CallFunction("f", {x_}, {}, "a_b");
  f->set_name("a.b");
  EXPECT_EQ(f->name(), "a_b");
  EXPECT_EQ(graph_->FindNode("a_b"), f);
  f->set_name("a..b");
  EXPECT_EQ(f->name(), "a_b");
  // The new name is a part of its own name, and lies in the memory that is replaced.
  f->set_name(f->name().substr(0, 1));
  EXPECT_EQ(f->name(), "a");
  graph_->Output(f);
}

TEST_F(NodeTest, LocationsAreKept) {
  Node* f = graph_->CallFunction("f", {x_});
  EXPECT_EQ(f->location().file, "");
  EXPECT_EQ(f->location().line, 0u);
  f->set_location({std::string("model.py"), 12, 7});
  x_->set_location({"other.py", 4000000000u, 65535});
  y_->set_location({"model.py", 1, 65536});
  EXPECT_EQ(f->location().file, "model.py");
  EXPECT_EQ(f->location().line, 12u);
  EXPECT_EQ(f->location().column, 7u);
  EXPECT_EQ(x_->location().line, 4000000000u);
  EXPECT_EQ(x_->location().column, 65535u);
  EXPECT_EQ(y_->location().column, 65535u);  // The column saturates.
  EXPECT_EQ(f->location().file.data(), y_->location().file.data());
  f->set_location({});
  EXPECT_EQ(f->location().file, "");
  graph_->Output(f);
}

// There are more files than fit in 16 bits, and then the first ones again.
TEST_F(NodeTest, AnyNumberOfFiles) {
  constexpr int kFiles = 70000;
  std::vector<Node*> nodes;
  for (int i = 0; i < kFiles; ++i) {
    nodes.push_back(graph_->CallFunction("f", {}));
    nodes.back()->set_location({absl::StrCat("file", i), 1, 1});
  }
  for (int i = 0; i < kFiles; ++i) {
    ASSERT_EQ(nodes[i]->location().file, absl::StrCat("file", i));
    nodes[i]->set_location({absl::StrCat("file", kFiles - 1 - i), 1, 1});
  }
  EXPECT_EQ(nodes[0]->location().file, "file69999");
  graph_->Output(Argument::None());
}

// There are more keywords than fit in 16 bits.
TEST_F(NodeTest, AnyNumberOfKeywords) {
  for (const int count : {65535, 65536, 70000}) {
    std::vector<std::string> names;
    std::vector<KwArg> kwargs;
    for (int i = 0; i < count; ++i) names.push_back(absl::StrCat("k", i));
    for (int i = 0; i < count; ++i)
      kwargs.push_back({names[i], i == count - 1 ? Argument(x_) : Argument(i)});
    Node* made = graph_->CallFunction("f", {}, kwargs);
    Node* changed = graph_->CallFunction("f", {});
    changed->set_kwargs(kwargs);
    for (const Node* node : {made, changed}) {
      ASSERT_EQ(node->kwargs().size(), static_cast<size_t>(count));
      EXPECT_EQ(node->kwargs().back().value.node(), x_);
    }
  }
  EXPECT_EQ(x_->num_uses(), 6);
  graph_->Output(Argument::None());
}

TEST_F(NodeTest, RareFieldsAreEmptyUntilSet) {
  EXPECT_EQ(x_->module_path(), "");
  EXPECT_EQ(x_->annotation(), "");
  EXPECT_EQ(x_->draw_spec(), nullptr);
  x_->clear_draw_spec();
  x_->set_module_path("");
  x_->set_module_path("layer1.0");
  x_->set_annotation(std::string("torch.Tensor"));
  DrawSpec spec;
  spec.has_mean = true;
  spec.mean = 0.5;
  spec.original_name = "L_x_";
  x_->set_draw_spec(spec);
  EXPECT_EQ(x_->module_path(), "layer1.0");
  EXPECT_EQ(x_->annotation(), "torch.Tensor");
  ASSERT_NE(x_->draw_spec(), nullptr);
  EXPECT_EQ(*x_->draw_spec(), spec);
  x_->set_draw_spec(*x_->draw_spec());
  EXPECT_EQ(*x_->draw_spec(), spec);
  x_->clear_draw_spec();
  EXPECT_EQ(x_->draw_spec(), nullptr);
  graph_->Output(x_);
}

TEST_F(NodeTest, MetaIsOfATensorOrOfATuple) {
  EXPECT_EQ(x_->meta(), nullptr);
  EXPECT_EQ(x_->tensor_meta(), nullptr);
  TensorMeta meta;
  meta.dtype = DType::kInt64;
  x_->set_meta(module_.InternValueMeta(meta));
  ASSERT_NE(x_->tensor_meta(), nullptr);
  EXPECT_EQ(x_->tensor_meta()->dtype, DType::kInt64);
  y_->set_meta(module_.InternTupleMeta({x_->meta(), x_->meta()}));
  EXPECT_EQ(y_->tensor_meta(), nullptr);
  EXPECT_EQ(y_->meta()->elements.size(), 2u);
  graph_->Output(x_);
}

TEST_F(NodeTest, NeighboursSkipErasedNodes) {
  Node* f = graph_->CallFunction("f", {});
  Node* g = graph_->CallFunction("g", {});
  Node* output = graph_->Output(Argument::None());
  EXPECT_EQ(x_->prev(), nullptr);
  EXPECT_EQ(x_->next(), y_);
  EXPECT_EQ(output->next(), nullptr);
  graph_->EraseNode(f);
  graph_->EraseNode(g);
  EXPECT_TRUE(f->is_erased());
  EXPECT_EQ(y_->next(), output);
  EXPECT_EQ(output->prev(), y_);
  EXPECT_EQ(f->next(), output);
  EXPECT_EQ(g->prev(), y_);
}

using NodeDeathTest = NodeTest;

TEST_F(NodeDeathTest, MisuseOfErasedNodesIsCaught) {
  Node* f = graph_->CallFunction("f", {x_});
  Node* g = graph_->CallFunction("g", {x_});
  graph_->EraseNode(f);
  graph_->Output(g);
  EXPECT_DEATH(f->set_args({y_}), "check failed");
  EXPECT_DEATH(f->set_kwargs({}), "check failed");
  EXPECT_DEATH(f->SetOperand(0, y_), "check failed");
  EXPECT_DEATH(f->ReplaceInput(x_, y_), "check failed");
  EXPECT_DEATH(f->set_name("h"), "check failed");
  EXPECT_DEATH(graph_->EraseNode(f), "check failed");
  EXPECT_DEATH(graph_->MoveBefore(f, x_), "check failed");
  EXPECT_DEATH(graph_->MoveBefore(g, f), "check failed");
  EXPECT_DEATH(g->SetOperand(0, f), "check failed");
  EXPECT_DEATH(g->SetOperand(1, x_), "check failed");
  EXPECT_DEATH(g->SetOperand(-1, x_), "check failed");
  EXPECT_DEATH(g->ReplaceInput(x_, f), "check failed");
  EXPECT_DEATH(x_->ReplaceAllUsesWith(f), "check failed");
  EXPECT_DEATH(x_->ReplaceUsesWithIf(f, [](const Node*) { return true; }), "check failed");
  EXPECT_DEATH(graph_->EraseNode(x_), "check failed");  // x has uses.
}

// This holds for every way in which a node gets its arguments.
TEST_F(NodeDeathTest, OperandsMustBeLiveNodesOfTheGraph) {
  Node* erased = graph_->CallFunction("gone", {});
  graph_->EraseNode(erased);
  Graph* body = module_.AddGraph("body");
  Node* foreign = body->Placeholder("z");
  body->Output(foreign);
  Node* g = graph_->CallFunction("g", {x_, 1, body}, {{"k", 1}});
  graph_->Output(g);
  const struct {
    Node* operand;
    const char* message;
  } cases[] = {
      {nullptr, "check failed: an operand of %[a-z_1]+ .[a-z]+. is null"},
      {erased, "check failed: an operand %gone of %[a-z_1]+ .[a-z]+. is erased"},
      {foreign, "check failed: an operand %z of %[a-z_1]+ .[a-z]+. belongs to another graph"},
  };
  for (const auto& c : cases) {
    const Argument list[] = {1, c.operand};
    for (const Argument& argument : {Argument(c.operand), Argument::List(list)}) {
      EXPECT_DEATH(graph_->CallFunction("f", {argument}), c.message);
      EXPECT_DEATH(graph_->CallMethod("f", {x_}, {{"k", argument}}), c.message);
      EXPECT_DEATH(graph_->CallLike(*g, "f", {argument}), c.message);
      EXPECT_DEATH(g->set_args({argument}), c.message);
      EXPECT_DEATH(g->set_kwargs({{"k", argument}}), c.message);
      EXPECT_DEATH(g->set_arg(1, argument), c.message);
      EXPECT_DEATH(g->set_kwarg("k", argument), c.message);
      EXPECT_DEATH(g->set_kwarg("l", argument), c.message);
      EXPECT_DEATH(g->MapArguments([&](const Argument& a) { return a.is_int() ? argument : a; }),
                   c.message);
    }
    EXPECT_DEATH(g->SetOperand(0, c.operand), c.message);
    EXPECT_DEATH(g->ReplaceInput(x_, c.operand), c.message);
    EXPECT_DEATH(x_->ReplaceAllUsesWith(c.operand), c.message);
    EXPECT_DEATH(graph_->CopyNodeFrom(*g, [&](Node*) { return c.operand; }), c.message);
  }
  EXPECT_DEATH(g->set_arg(3, 1), "check failed");
}

TEST_F(NodeDeathTest, BodiesMustBeGraphsOfTheModule) {
  Module other;
  Graph* foreign = other.AddGraph("elsewhere");
  EXPECT_DEATH(graph_->CallFunction("torch.vmap", {foreign}),
               "check failed: the body @elsewhere of a call belongs to another module");
  EXPECT_DEATH(graph_->CallFunction("torch.vmap", {static_cast<Graph*>(nullptr)}),
               "check failed: the body of a call is null");
  graph_->Output(1);
}

// --- Arguments as a whole ---------------------------------------------------------

TEST_F(NodeTest, FindArgIsByPositionOrByName) {
  Node* f = graph_->CallFunction("f", {x_, 1}, {{"dim", 2}});
  graph_->Output(f);
  EXPECT_EQ(*f->FindArg("input", 0), Argument(x_));
  EXPECT_EQ(*f->FindArg("anything", 1), Argument(1));
  EXPECT_EQ(*f->FindArg("dim", 2), Argument(2));
  EXPECT_EQ(f->FindArg("keepdim", 3), nullptr);
}

TEST_F(NodeTest, ForEachArgumentVisitsAllOfThem) {
  Graph* body = module_.AddGraph("body");
  body->Output(0);
  Node* f = graph_->CallFunction("f", {x_, Argument::List({1, Argument::Tuple({y_})})},
                                 {{"k", Argument::Dict({"a", body})}, {"l", 2}});
  graph_->Output(f);
  std::vector<Kind> kinds;
  f->ForEachArgument([&](const Argument& a) { kinds.push_back(a.kind()); });
  EXPECT_THAT(kinds, ElementsAre(Kind::kNode, Kind::kList, Kind::kInt, Kind::kTuple, Kind::kNode,
                                 Kind::kDict, Kind::kString, Kind::kGraph, Kind::kInt));
  EXPECT_TRUE(f->HasBody());
  f->set_kwarg("k", 0);
  EXPECT_FALSE(f->HasBody());
  f->set_arg(1, body);
  EXPECT_TRUE(f->HasBody());
}

TEST_F(NodeTest, SingleArgumentsAreReplaced) {
  Node* f = graph_->CallFunction("f", {Argument::List({x_, y_}), x_}, {{"k", y_}});
  graph_->Output(f);
  f->set_arg(0, f->args()[0].elements()[1]);  // A view of the argument that is replaced.
  EXPECT_EQ(PrintNode(f), "f(%y, %x, k = %y)");
  f->set_kwarg("k", Argument::Tuple({x_, x_}));
  f->set_kwarg("l", 1.5);
  EXPECT_EQ(PrintNode(f), "f(%y, %x, k = (%x, %x), l = 1.5)");
  EXPECT_THAT(UsesOf(x_), ElementsAre(UseAt("f", 1), UseAt("f", 2), UseAt("f", 3)));
  EXPECT_THAT(UsesOf(y_), ElementsAre(UseAt("f", 0)));
  f->set_kwarg("k", Argument::None());
  EXPECT_EQ(PrintNode(f), "f(%y, %x, k = None, l = 1.5)");
}

TEST_F(NodeTest, MapArgumentsReplacesLeaves) {
  Node* f = graph_->CallFunction("f", {x_, Argument::List({1, Argument::Tuple({x_, 2})})},
                                 {{"k", x_}, {"l", 3}});
  graph_->Output(f);
  EXPECT_FALSE(f->MapArguments([](const Argument& a) { return a; }));
  const std::string text = "a text that lives as long as the mapping";
  const Argument pair[] = {absl::string_view(text), x_};
  EXPECT_TRUE(f->MapArguments([&](const Argument& a) {
    if (a.is_node()) return Argument(y_);
    return a == Argument(2) ? Argument::List(pair) : a;
  }));
  EXPECT_EQ(PrintNode(f), "f(%y, [1, (%y, [\"" + text + "\", %x])], k = %y, l = 3)");
  EXPECT_THAT(UsesOf(x_), ElementsAre(UseAt("f", 2)));
  EXPECT_THAT(UsesOf(y_), ElementsAre(UseAt("f", 0), UseAt("f", 1), UseAt("f", 3)));
}

}  // namespace
}  // namespace graphnet

#include "graphnet/ir/outline.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet {
namespace {

constexpr char kTarget[] = "torch.ops.higher_order.wrap";

class OutlineTest : public testing::Test {
 protected:
  Module& Set(absl::string_view text) {
    module_ = Parse(text);
    return *module_;
  }

  std::vector<Node*> Nodes(const std::vector<std::string>& names) {
    std::vector<Node*> nodes;
    for (const std::string& name : names) nodes.push_back(module_->main()->FindNode(name));
    return nodes;
  }
  std::string Print() { return PrintModule(*module_, {.header = false}); }

  ParsedModule module_;
};

constexpr char kChain[] = R"(graph @forward(%x, %y) {
  %a = f(%x) : f32[2] in one
  %b = f(%y)
  %c = f(%a, %y) : f32[3] as torch.Tensor
  %d = f(%b)
  %e = f([%c, %a], k = (%c, 1))
  return (%d, %e)
}
)";

TEST_F(OutlineTest, OneOutputIsTheCall) {
  Set(kChain);
  const auto call = Outline(Nodes({"e", "c", "a"}), kTarget, "part");
  ASSERT_OK(call);
  EXPECT_EQ((*call)->name(), "e");
  EXPECT_EQ(Print(), R"(graph @forward(%x, %y) {
  %b = f(%y)
  %d = f(%b)
  %e = torch.ops.higher_order.wrap(@part, %x, %y)
  return (%d, %e)
}

graph @part(%x, %y) {
  %a = f(%x) : f32[2] in one
  %c = f(%a, %y) : f32[3] as torch.Tensor
  %e = f([%c, %a], k = (%c, 1))
  return %e
}
)");
}

TEST_F(OutlineTest, SeveralOutputsAreTakenApart) {
  Set(kChain);
  ASSERT_OK(Outline(Nodes({"a", "c"}), kTarget, "part"));
  EXPECT_EQ(Print(), R"(graph @forward(%x, %y) {
  %b = f(%y)
  %part = torch.ops.higher_order.wrap(@part, %x, %y) : (f32[2], f32[3]) in one
  %a = operator.getitem(%part, 0) : f32[2] in one
  %c = operator.getitem(%part, 1) : f32[3] as torch.Tensor
  %d = f(%b)
  %e = f([%c, %a], k = (%c, 1))
  return (%d, %e)
}

graph @part(%x, %y) {
  %a = f(%x) : f32[2] in one
  %c = f(%a, %y) : f32[3] as torch.Tensor
  return (%a, %c)
}
)");
}

// Nodes between the outlined nodes go behind the call if they use them, and stay if they are used.
TEST_F(OutlineTest, NodesNeedNotBeNeighbours) {
  Set(R"(graph @forward(%x) {
  %a = f(%x)
  %after = g(%a)
  %more = g(%after)
  %before = g(%x)
  %b = f(%before)
  return (%more, %b)
}
)");
  ASSERT_OK(Outline(Nodes({"a", "b"}), kTarget, "part"));
  EXPECT_EQ(Print(), R"(graph @forward(%x) {
  %before = g(%x)
  %part = torch.ops.higher_order.wrap(@part, %x, %before) : (_, _)
  %a = operator.getitem(%part, 0)
  %b = operator.getitem(%part, 1)
  %after = g(%a)
  %more = g(%after)
  return (%more, %b)
}

graph @part(%x, %before) {
  %a = f(%x)
  %b = f(%before)
  return (%a, %b)
}
)");
}

TEST_F(OutlineTest, NamesThePathThatLeavesAndComesBack) {
  Set(kChain);
  const std::string before = Print();
  EXPECT_THAT(FindSubgraph(Nodes({"a", "e"})).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "graph forward: the nodes are not convex: %a -> %c -> %e"));
  EXPECT_FALSE(Outline(Nodes({"a", "e"}), kTarget, "part").ok());
  EXPECT_EQ(Print(), before);
  Set(R"(graph @forward(%x) {
  %a = f(%x)
  %b = f(%x)
  %c = f(%a)
  %d = f(%c, %b)
  %e = f(%x, %d)
  return %e
}
)");
  EXPECT_THAT(FindSubgraph(Nodes({"e", "a"})).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "graph forward: the nodes are not convex: %a -> %c -> %d -> %e"));
  EXPECT_OK(FindSubgraph(Nodes({"a", "c", "d", "e"})));
  EXPECT_OK(FindSubgraph(Nodes({"b", "d"})));
}

TEST_F(OutlineTest, RefusesInvalidSets) {
  Set(kChain);
  const auto error = [](const std::vector<Node*>& nodes) {
    return std::string(FindSubgraph(nodes).status().message());
  };
  EXPECT_EQ(error({}), "no nodes are given");
  EXPECT_EQ(error(Nodes({"a", "x"})), "%x is a placeholder");
  EXPECT_EQ(error(Nodes({"output"})), "%output is the output");
  Module other;
  EXPECT_EQ(error({Nodes({"a"})[0], other.AddGraph("forward")->CallFunction("z", {})}),
            "%z belongs to another graph");
  const auto subgraph = FindSubgraph(Nodes({"e", "c", "e"}));
  ASSERT_OK(subgraph);
  EXPECT_EQ(subgraph->nodes, Nodes({"c", "e"}));
  EXPECT_EQ(subgraph->inputs, Nodes({"y", "a"}));
  EXPECT_EQ(subgraph->outputs, Nodes({"e"}));
}

TEST_F(OutlineTest, WithoutInputsOrOutputs) {
  Set(R"(graph @forward() {
  %a = f()
  %b = g(%a)
  return 1
}
)");
  ASSERT_OK(Outline(Nodes({"a", "b"}), kTarget, "part"));
  EXPECT_EQ(Print(), R"(graph @forward() {
  %part = torch.ops.higher_order.wrap(@part) : ()
  return 1
}

graph @part() {
  %a = f()
  %b = g(%a)
  return ()
}
)");
}

TEST_F(OutlineTest, ACutIsAModuleOfItsOwn) {
  Set(R"(symbol s0 = 4
relation s0 < 9
attribute w : f32[s0] as torch.nn.parameter.Parameter
attribute v

graph @forward(%x : f32[s0]) {
  %w = get_attr w
  %v = get_attr v
  %a = torch.vmap(@outer, (%x, %w)) : f32[s0]
  return (%a, %v)
}

graph @outer(%p, %q) {
  %r = torch.vmap(@inner, (%p, %q))
  return %r
}

graph @inner(%p, %q) {
  %r = f(%p, %q)
  return %r
}
)");
  const std::string before = Print();
  const auto subgraph = FindSubgraph(Nodes({"w", "a"}));
  ASSERT_OK(subgraph);
  const auto piece = CutSubgraph(*subgraph);
  EXPECT_OK(Verify(*piece));
  EXPECT_EQ(Print(), before);
  EXPECT_EQ(PrintModule(*piece, {.header = false}), R"(symbol s0 = 4
relation s0 < 9

attribute w : f32[s0] as torch.nn.parameter.Parameter

graph @forward(
  %x : f32[s0]
) {
  %w = get_attr w
  %a = torch.vmap(@outer, (%x, %w)) : f32[s0]
  return %a
}

graph @outer(%p, %q) {
  %r = torch.vmap(@inner, (%p, %q))
  return %r
}

graph @inner(%p, %q) {
  %r = f(%p, %q)
  return %r
}
)");
}

TEST_F(OutlineTest, InlineReplacesTheCallByTheBody) {
  Set(R"(graph @forward(%x, %f) {
  %call = torch.ops.higher_order.wrap(@part, [%x, 2], 3) : (f32[2], _)
  %a = operator.getitem(%call, 0) : f32[2]
  %b = operator.getitem(%call, -2)
  %c = operator.getitem(%call, 1)
  %whole = g(%call, k = %c)
  return (%a, %b, %whole)
}

graph @part(%p, %n) {
  %f = f(%p, k = [%n, 1]) : f32[2] in layer
  return (%f, %n)
}
)");
  ASSERT_OK(Inline(module_->main()->FindNode("call")));
  EXPECT_EQ(module_->EraseUnusedGraphs(), 1u);
  EXPECT_EQ(Print(), R"(graph @forward(%x, %f) {
  %b = f([%x, 2], k = [3, 1]) : f32[2] in layer
  %whole = g((%b, 3), k = 3)
  return (%b, %b, %whole)
}
)");
}

TEST_F(OutlineTest, CallsOfOtherFormsAreNotInlined) {
  Set(R"(graph @forward(%x) {
  %a = f(%x)
  %b = torch.ops.higher_order.wrap(@part, %x, %x)
  %c = torch.ops.higher_order.wrap(@part, %x, k = 1)
  return (%a, %b, %c)
}

graph @part(%p) {
  return %p
}
)");
  const std::string before = Print();
  const char* const form =
      "the call does not have the form target(@body, operands...) without keywords";
  const char* const count = "2 operands for a body with 1 parameters";
  for (const auto& [name, why] :
       {std::pair("a", form), std::pair("b", count), std::pair("c", form)}) {
    EXPECT_THAT(Inline(module_->main()->FindNode(name)),
                StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr(why)));
  }
  EXPECT_EQ(Print(), before);
}

// In random graphs, Outline either fails and changes nothing, or Inline undoes it.
TEST_F(OutlineTest, InlineUndoesOutline) {
  std::mt19937 random(7);
  int outlined = 0;
  for (int round = 0; round < 300; ++round) {
    std::string text = "graph @forward(%n0) {\n";
    const int size = 4 + static_cast<int>(random() % 12);
    std::string returned;
    for (int i = 1; i < size; ++i) {
      absl::StrAppend(&text, "  %n", i, " = f(%n", random() % i, ", %n", random() % i, ")\n");
      if (random() % 3 == 0) absl::StrAppend(&returned, "%n", i, ", ");
    }
    absl::StrAppend(&text, "  return (", returned, "%n0,)\n}\n");
    Set(text);
    std::vector<Node*> nodes;
    for (Node* node : module_->main()->nodes()) {
      if (node->is_call() && random() % 2 == 0) nodes.push_back(node);
    }
    if (nodes.empty()) continue;
    const auto reference = module_->Clone();
    const auto call = Outline(nodes, kTarget, "part");
    ASSERT_OK(Verify(*module_));
    if (!call.ok()) {
      EXPECT_OK(CheckEqual(*module_, *reference, kExact));
      continue;
    }
    ++outlined;
    ASSERT_OK(Inline(*call));
    EXPECT_EQ(module_->EraseUnusedGraphs(), 1u);
    // The order may differ, but nodes of the same name have the same operands.
    ASSERT_EQ(module_->main()->num_nodes(), reference->main()->num_nodes());
    for (Node* node : reference->main()->nodes()) {
      const Node* other = module_->main()->FindNode(node->name());
      ASSERT_NE(other, nullptr) << text;
      EXPECT_EQ(PrintNode(*other), PrintNode(*node));
    }
  }
  EXPECT_GT(outlined, 30);
}

// The main graph before a value replaces %a.
constexpr char kTaken[] = R"(graph @forward(%x, %y) {
  %a = f(%x)
  %b = operator.getitem(%a, 0)
  %c = operator.getitem(%a, -1)
  %d = operator.getitem(%c, 1)
  %e = operator.getitem(%a, 7)
  %g = g(%b, [%c, %d], k = %a)
  return (%d, %e)
}
)";

TEST_F(OutlineTest, ReplacesUsesByAValueAndGetitemsByItsElements) {
  Set(kTaken);
  Node* const a = module_->main()->FindNode("a");
  Node* const x = module_->main()->FindNode("x");
  Node* const y = module_->main()->FindNode("y");
  ReplaceUsesWithValue(a, Argument::Tuple({y, Argument::List({1, x})}));
  ASSERT_OK(Verify(*module_));
  // A getitem of an element that is missing stays.
  EXPECT_EQ(Print(), R"(graph @forward(%x, %y) {
  %a = f(%x)
  %e = operator.getitem((%y, [1, %x]), 7)
  %g = g(%y, [[1, %x], %x], k = (%y, [1, %x]))
  return (%x, %e)
}
)");
  EXPECT_FALSE(a->has_uses());
}

TEST_F(OutlineTest, ReplacesOnlyUsesByAValueThatIsNotATuple) {
  Set(kTaken);
  ReplaceUsesWithValue(module_->main()->FindNode("a"), 3);
  ASSERT_OK(Verify(*module_));
  EXPECT_THAT(Print(), testing::HasSubstr("%b = operator.getitem(3, 0)"));
  Set(kTaken);
  ReplaceUsesWithValue(module_->main()->FindNode("a"), module_->main()->FindNode("x"));
  ASSERT_OK(Verify(*module_));
  EXPECT_THAT(Print(), testing::HasSubstr("%b = operator.getitem(%x, 0)"));
}

}  // namespace
}  // namespace graphnet

#include "graphnet/decompose/partition.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "graphnet/ir/outline.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;

bool IsSin(const Node& node) {
  return node.target() == "torch.sin" || node.target() == "torch.add";
}

std::vector<std::string> GroupsOf(const Module& module, const PartitionOptions& options = {}) {
  const auto groups = Partition(module.main(), IsSin, options);
  EXPECT_OK(groups);
  std::vector<std::string> names;
  for (const std::vector<Node*>& group : *groups) {
    names.push_back(absl::StrJoin(group, " ", [](std::string* out, const Node* node) {
      absl::StrAppend(out, node->name());
    }));
  }
  return names;
}

ParsedModule ParseBody(absl::string_view body) {
  return Parse(absl::StrCat("graph @main(%x, %y) {\n", body, "}\n"));
}

TEST(PartitionTest, APathThatLeadsAroundPartsAGroup) {
  const auto module = ParseBody(R"(
    %a = torch.sin(%x)
    %u = torch.cos(%a)
    %b = torch.add(%a, %u)
    %c = torch.sin(%b)
    return (%c,)
)");
  EXPECT_THAT(GroupsOf(*module), ElementsAre("a", "b c"));
  EXPECT_THAT(GroupsOf(*module, {.min_operators = 2}), ElementsAre("b c"));
}

TEST(PartitionTest, GroupsOfDifferentDepthsAreJoined) {
  // c is no deeper than a, and b is deeper because of u, which does not use c.
  const auto module = ParseBody(R"(
    %a = torch.sin(%x)
    %c = torch.sin(%y)
    %u = torch.cos(%a)
    %b = torch.add(%c, %u)
    return (%b,)
)");
  EXPECT_THAT(GroupsOf(*module), ElementsAre("a", "c b"));
  size_t asked = 0;
  const auto never = [&](absl::Span<Node* const>, absl::Span<Node* const>) {
    ++asked;
    return false;
  };
  EXPECT_THAT(GroupsOf(*module, {.merges = never}), ElementsAre("a", "c", "b"));
  EXPECT_EQ(asked, 1);
}

TEST(PartitionTest, TwoGroupsThatWaitForEachOtherAreNotMade) {
  // a-b and c-d would each need the other first.
  const auto module = ParseBody(R"(
    %a = torch.sin(%x)
    %c = torch.sin(%y)
    %u = torch.cos(%a)
    %v = torch.cos(%c)
    %b = torch.add(%a, %v)
    %d = torch.add(%c, %u)
    return (%b, %d)
)");
  EXPECT_EQ(GroupsOf(*module).size(), 3);
}

TEST(PartitionTest, WritesKeepTheirOrderAndModesTheirCalls) {
  const auto writes = ParseBody(R"(
    %a = torch.sin(%x)
    %w = .mul_(%x, 2)
    %b = torch.add(%a, %x)
    return (%b,)
)");
  EXPECT_THAT(GroupsOf(*writes), ElementsAre("a", "b"));
  const auto modes = ParseBody(R"(
    %a = torch.sin(%x)
    %on = torch.amp.autocast_mode._enter_autocast("cpu", torch.bfloat16, True, None)
    %b = torch.add(%a, %x)
    %off = torch.amp.autocast_mode._exit_autocast(%on)
    %c = torch.sin(%b)
    return (%c,)
)");
  EXPECT_THAT(GroupsOf(*modes), ElementsAre("a", "b", "c"));
}

// Whether the nodes, with each group as one node, can be put in order, and each group can be cut out.
bool IsPossible(const Graph& graph, const std::vector<std::set<const Node*>>& groups) {
  std::map<const Node*, size_t> group_of;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const Node* node : groups[g]) group_of[node] = g;
  }
  std::map<const Node*, size_t> unit;
  size_t units = groups.size();
  for (const Node* node : graph.nodes())
    unit[node] = group_of.contains(node) ? group_of[node] : units++;
  std::vector<std::set<size_t>> before(units);
  for (const Node* node : graph.nodes()) {
    node->ForEachOperand([&](const Node* operand) {
      if (unit[operand] != unit[node]) before[unit[node]].insert(unit[operand]);
    });
  }
  for (size_t left = units; left > 0;) {
    size_t taken = 0;
    for (size_t i = 0; i < units; ++i) {
      if (before[i].contains(units) || !before[i].empty()) continue;
      before[i].insert(units);  // done
      for (std::set<size_t>& other : before) other.erase(i);
      ++taken;
    }
    if (taken == 0) return false;
    left -= taken;
  }
  return true;
}

TEST(PartitionTest, RandomGraphsAgainstTrials) {
  std::mt19937 random(7);
  size_t merged = 0;
  for (int turn = 0; turn < 400; ++turn) {
    const auto module = Parse("graph @main(%x) {\n  return (%x,)\n}\n");
    Graph* const graph = module->main();
    std::vector<Node*> values = {graph->first()};
    graph->EraseNode(graph->output());
    const size_t size = 4 + random() % 22;
    for (size_t i = 0; i < size; ++i) {
      const size_t window = std::min<size_t>(values.size(), 3 + random() % 6);
      const auto any = [&] { return values[values.size() - 1 - random() % window]; };
      const bool is_supported = random() % 5 < 3;
      Node* const a = any();
      values.push_back(is_supported ? graph->CallFunction("torch.add", {a, any()})
                                    : graph->CallFunction("torch.mul", {a, any()}));
    }
    std::vector<Argument> all(values.begin() + 1, values.end());
    graph->Output(Argument::Tuple(all));
    ASSERT_OK(Verify(*module));
    const auto made = Partition(graph, IsSin);
    ASSERT_OK(made);
    std::vector<std::set<const Node*>> groups;
    size_t grouped = 0;
    for (const std::vector<Node*>& group : *made) {
      groups.emplace_back(group.begin(), group.end());
      grouped += group.size();
      EXPECT_TRUE(FindSubgraph(group).ok());
    }
    size_t supported = 0;
    for (const Node* node : graph->nodes()) supported += node->is_call() && IsSin(*node) ? 1 : 0;
    EXPECT_EQ(grouped, supported);
    ASSERT_TRUE(IsPossible(*graph, groups)) << turn;
    merged += groups.size() < supported ? 1 : 0;
    // No two groups of which one uses the other could be one.
    for (size_t a = 0; a < groups.size(); ++a) {
      for (size_t b = 0; b < groups.size(); ++b) {
        bool uses = false;
        for (const Node* node : groups[b])
          node->ForEachOperand([&](const Node* operand) { uses |= groups[a].contains(operand); });
        if (a == b || !uses) continue;
        std::vector<std::set<const Node*>> joined = groups;
        joined[a].insert(groups[b].begin(), groups[b].end());
        joined.erase(joined.begin() + static_cast<ptrdiff_t>(b));
        EXPECT_FALSE(IsPossible(*graph, joined)) << turn;
      }
    }
    for (const std::vector<Node*>& group : *made)
      ASSERT_OK(Outline(group, "torch.ops.higher_order.wrap", "group").status());
    ASSERT_OK(Verify(*module));
  }
  EXPECT_GT(merged, 300);
}

TEST(PartitionTest, LongGraphsTakeStepsInProportion) {
  // Each supported node waits for an unsupported one, and a chain runs beside them.
  std::string body = "%s0 = torch.sin(%x)\n%t0 = torch.sin(%y)\n";
  constexpr int kSize = 20'000;
  for (int i = 1; i < kSize; ++i) {
    absl::StrAppend(&body, "%u", i, " = torch.cos(%s", i - 1, ")\n%t", i, " = torch.sin(%t", i - 1,
                    ")\n%s", i, " = torch.add(%u", i, ", %t", i, ")\n");
  }
  absl::StrAppend(&body, "return (%s", kSize - 1, ", %t", kSize - 1, ")\n");
  const auto module = ParseBody(body);
  const auto groups = Partition(module->main(), IsSin);
  ASSERT_OK(groups);
  EXPECT_GE(groups->size(), kSize / 2);
}

}  // namespace
}  // namespace graphnet

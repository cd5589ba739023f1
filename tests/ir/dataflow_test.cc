#include "graphnet/ir/dataflow.h"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;

std::string NameOf(const Node* node) { return node == nullptr ? "-" : std::string(node->name()); }

TEST(DataflowTest, ADiamondHasOneWayInAndOneOut) {
  const ParsedModule module = Parse(R"(graph @main(%x, %y) {
  %a = f(%x)
  %b = f(%a)
  %c = f(%a)
  %d = f(%b, %c)
  %e = f(%d, %y)
  %unused = f(%a)
  return (%e,)
}
)");
  const Graph& graph = *module->main();
  const Dataflow flow(graph);
  const auto of = [&](absl::string_view name) { return graph.FindNode(name); };
  EXPECT_EQ(flow.Dominator(of("d")), of("a"));
  EXPECT_EQ(flow.Dominator(of("a")), of("x"));
  EXPECT_EQ(flow.Dominator(of("e")), nullptr);  // two inputs
  EXPECT_EQ(flow.PostDominator(of("b")), of("d"));
  EXPECT_EQ(flow.PostDominator(of("e")), graph.output());
  EXPECT_EQ(flow.PostDominator(of("a")), nullptr);  // one path ends at %unused
  EXPECT_EQ(flow.LastUse(of("a")), of("unused"));
  EXPECT_EQ(flow.LastUse(of("unused")), nullptr);
  std::vector<std::string> live;
  for (const Node* value : flow.LiveBehind(of("c"))) live.push_back(NameOf(value));
  EXPECT_THAT(live, ElementsAre("y", "a", "b", "c"));
}

// The last node without which none of the paths is left that lead to `to` by operands.
const Node* NearestWithout(const std::vector<const Node*>& nodes, const Node* to, bool forwards) {
  const auto next = [&](const Node* node) {
    std::set<const Node*> found;
    if (forwards) {
      for (const Node* user : node->users()) found.insert(user);
    } else {
      node->ForEachOperand([&](const Node* operand) { found.insert(operand); });
    }
    return found;
  };
  const Node* nearest = nullptr;
  for (const Node* without : nodes) {
    if (without == to) continue;
    std::vector<const Node*> reached = {to};
    std::set<const Node*> seen = {to};
    bool gets_through = false, meets = false;
    for (size_t i = 0; i < reached.size(); ++i) {
      if (reached[i] == without) {
        meets = true;
        continue;
      }
      const auto further = next(reached[i]);
      gets_through |= further.empty();
      for (const Node* node : further) {
        if (seen.insert(node).second) reached.push_back(node);
      }
    }
    if (!meets || gets_through) continue;
    const bool is_nearer =
        nearest == nullptr || (forwards ? without->IsBefore(nearest) : nearest->IsBefore(without));
    if (is_nearer) nearest = without;
  }
  return nearest;
}

TEST(DataflowTest, RandomGraphsHaveTheDominatorsThatARemovalShows) {
  std::mt19937 random(7);
  size_t found = 0;
  for (int i = 0; i < 100; ++i) {
    std::string text = "graph @main(%n0) {\n";
    for (int n = 1; n < 20; ++n) {
      // Mostly chains, so that there is much to find.
      const auto near = [&] { return std::max(0, n - 1 - static_cast<int>(random() % 3)); };
      absl::StrAppend(&text, "  %n", n, " = f(%n", near(), ", %n", near(), ")\n");
    }
    absl::StrAppend(&text, "  return (%n19,)\n}\n");
    const ParsedModule module = Parse(text);
    const Dataflow flow(*module->main());
    std::vector<const Node*> nodes;
    for (const Node* node : module->main()->nodes()) nodes.push_back(node);
    for (const Node* node : nodes) {
      const Node* const before = NearestWithout(nodes, node, /*forwards=*/false);
      EXPECT_EQ(NameOf(flow.Dominator(node)), NameOf(before)) << NameOf(node) << " in " << text;
      EXPECT_EQ(NameOf(flow.PostDominator(node)), NameOf(NearestWithout(nodes, node, true)))
          << NameOf(node) << " in " << text;
      found += before != nullptr ? 1 : 0;
    }
  }
  EXPECT_GT(found, 1000u);
}

}  // namespace
}  // namespace graphnet

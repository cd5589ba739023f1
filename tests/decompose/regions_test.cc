#include "graphnet/decompose/regions.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/decompose/chain_testing.h"

namespace graphnet {
namespace {

// Returns, for each position, the name of the operator whose region is open there, or "".
std::vector<std::string> Open(absl::string_view text) {
  const Sample sample = ParseFragment(text);
  const Graph& graph = *sample.module->main();
  const Regions regions(graph);
  std::vector<std::string> out;
  int64_t next = -1;
  for (int64_t p = NumOperators(graph); p >= 0; --p) {
    const Node* node = regions.OpenAt(p);
    out.insert(out.begin(), node == nullptr ? "" : std::string(node->name()));
    if (node == nullptr) next = p;
    EXPECT_EQ(regions.NextCut(p), next) << p;
  }
  return out;
}

using testing::ElementsAre;

TEST(RegionsTest, NoneInAnOrdinaryGraph) {
  EXPECT_THAT(Open("graph @g(%x) {\n  %a = torch.relu(%x)\n  return %a\n}\n"), ElementsAre("", ""));
  EXPECT_THAT(Open("graph @g(%x) {\n  return %x\n}\n"), ElementsAre(""));
}

TEST(RegionsTest, NestedVmapIsOne) {
  EXPECT_THAT(Open(R"(
graph @g(%x) {
  %a = torch.relu(%x)
  %i = torch._functorch.predispatch._vmap_increment_nesting(2, "error")
  %j = torch._C._functorch._vmap_increment_nesting(3, "error")
  %b = torch.relu(%a)
  %k = torch._C._functorch._vmap_decrement_nesting()
  %l = torch._functorch.predispatch._vmap_decrement_nesting()
  %c = torch.relu(%b)
  return %c
}
)"),
              ElementsAre("", "", "i", "i", "i", "i", "", ""));
}

TEST(RegionsTest, AdjacentOnesAreTwo) {
  EXPECT_THAT(Open(R"(
graph @g(%x) {
  %i = torch._C._functorch._vmap_increment_nesting(3, "error")
  %j = torch._C._functorch._vmap_decrement_nesting()
  %k = torch.amp.autocast_mode._enter_autocast("cpu")
  %l = torch.amp.autocast_mode._exit_autocast(%k)
  return %x
}
)"),
              ElementsAre("", "i", "", "k", ""));
}

TEST(RegionsTest, KindsMayInterleave) {
  EXPECT_THAT(Open(R"(
graph @g(%x) {
  %i = torch._C._functorch._vmap_increment_nesting(3, "error")
  %j = torch.amp.autocast_mode._enter_autocast("cpu")
  %k = torch._C._functorch._vmap_decrement_nesting()
  %l = torch.amp.autocast_mode._exit_autocast(%j)
  %a = torch.relu(%x)
  return %a
}
)"),
              ElementsAre("", "i", "i", "i", "", ""));
}

TEST(RegionsTest, NeverClosedLastsToTheEnd) {
  EXPECT_THAT(Open(R"(
graph @g(%x) {
  %k = torch.amp.autocast_mode._enter_autocast("cpu")
  %a = torch.relu(%x)
  %b = torch.relu(%x)
  return %b
}
)"),
              ElementsAre("", "k", "k", ""));
}

TEST(RegionsTest, WhatClosesNothingIsIgnored) {
  EXPECT_THAT(Open(R"(
graph @g(%x) {
  %j = torch._C._functorch._vmap_decrement_nesting()
  %k = torch.amp.autocast_mode._enter_autocast("cpu")
  %l = torch._C._functorch._vmap_decrement_nesting()
  %m = torch.amp.autocast_mode._exit_autocast(%k)
  return %x
}
)"),
              ElementsAre("", "", "k", "k", ""));
}

TEST(RegionsTest, OnlyFunctionsOfThatNameCount) {
  EXPECT_THAT(Open(R"(
graph @g(%x) {
  %a = my._enter_autocast_not(%x)
  %b = ._enter_autocast(%x)
  %c = torch._C._set_grad_enabled(False)
  return %x
}
)"),
              ElementsAre("", "", "", ""));
}

}  // namespace
}  // namespace graphnet

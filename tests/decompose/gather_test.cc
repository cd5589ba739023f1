#include "graphnet/decompose/gather.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

ParsedModule ParseBody(absl::string_view body) {
  return Parse(absl::StrCat("graph @main(%x, %y) {\n", body, "}\n"));
}

absl::StatusOr<Range> Gather(const Module& module, absl::string_view names) {
  std::vector<Node*> nodes;
  for (const absl::string_view name : absl::StrSplit(names, ' ')) {
    nodes.push_back(module.main()->FindNode(name));
  }
  return GatherNodes(nodes);
}

std::string Order(const Module& module) {
  std::string order;
  for (const Node* node : module.main()->nodes()) {
    if (!node->is_placeholder() && !node->is_output()) absl::StrAppend(&order, node->name(), " ");
  }
  EXPECT_TRUE(Verify(module).ok());
  return order;
}

TEST(GatherTest, WhatUsesTheNodesGoesBehindAndAllElseInFront) {
  const auto module = ParseBody(R"(
    %a = torch.sin(%x)
    %u = torch.cos(%a)
    %f = torch.tan(%y)
    %v = torch.neg(%u)
    %b = torch.add(%a, %f)
    %w = torch.exp(%y)
    return (%b, %v, %w)
)");
  const auto range = Gather(*module, "b a");
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_EQ(*range, (Range{1, 3}));
  EXPECT_EQ(Order(*module), "f a b u v w ");
}

TEST(GatherTest, ARangeStaysWhereItIs) {
  const auto module = ParseBody("%a = torch.sin(%x)\n%b = torch.cos(%a)\nreturn %b\n");
  EXPECT_EQ(*Gather(*module, "b"), (Range{1, 2}));
  EXPECT_EQ(Order(*module), "a b ");
}

TEST(GatherTest, RefusesWhatLeadsOutAndBack) {
  const auto module = ParseBody(R"(
    %a = torch.sin(%x)
    %u = torch.cos(%a)
    %b = torch.add(%a, %u)
    return %b
)");
  const absl::Status status = Gather(*module, "a b").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(status.message(), HasSubstr("%a -> %u -> %b"));
  EXPECT_EQ(Order(*module), "a u b ");
}

// One write would be seen too early, one would come too late, and one does not concern the nodes.
TEST(GatherTest, KeepsTheOrderOfWrites) {
  const auto early = ParseBody(R"(
    %t = torch.clone(%x)
    %a = torch.sin(%t)
    %u = aten.add_.Tensor(%t, %y)
    %b = torch.cos(%a)
    return (%b, %u)
)");
  const absl::Status status = Gather(*early, "a b").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_EQ(status.message(),
            "%u would go in front of %a, and they share memory that the graph writes to");

  const auto late = ParseBody(R"(
    %t = torch.clone(%x)
    %a = torch.sin(%y)
    %u = aten.add_.Tensor(%t, %a)
    %b = torch.cos(%t)
    return (%a, %b)
)");
  EXPECT_EQ(Gather(*late, "a b").status().message(),
            "%b would go in front of %u, and they share memory that the graph writes to");

  const auto apart = ParseBody(R"(
    %a = torch.sin(%x)
    %t = torch.clone(%y)
    %u = aten.add_.Tensor(%t, %a)
    %b = torch.cos(%a)
    return (%b, %t)
)");
  EXPECT_EQ(*Gather(*apart, "a b"), (Range{1, 3}));
  EXPECT_EQ(Order(*apart), "t a b u ");
}

}  // namespace
}  // namespace graphnet

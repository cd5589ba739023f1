#include "graphnet/paddle/pir/group_runs.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/text/parser.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet::pir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns the names of the calls of each run.
std::vector<std::vector<std::string>> RunsOf(absl::string_view text) {
  const auto sample = ParseSample(text, "test");
  EXPECT_OK(sample.status());
  const auto runs = GroupRuns(*sample->module);
  EXPECT_OK(runs.status());
  std::vector<std::vector<std::string>> names;
  for (const auto& run : *runs) {
    names.emplace_back();
    for (const Node* node : run) names.back().emplace_back(node->name());
  }
  return names;
}

TEST(GroupRunsTest, ElementwiseCallsAndTheirReductionAreOneRun) {
  EXPECT_THAT(RunsOf(R"(graph @forward(%x : f32[4, 8], %w : f32[8, 8]) {
    %m = torch.matmul(%x, %w) : f32[4, 8]
    %a = torch.exp(%m) : f32[4, 8]
    %b = torch.add(%a, %x) : f32[4, 8]
    %c = torch.sum(%b, 1) : f32[4]
    %n = torch.matmul(%c, %x) : f32[8]
    %d = torch.tanh(%n) : f32[8]
    return (%d,)
  })"),
              ElementsAre(ElementsAre("a", "b", "c")));
}

TEST(GroupRunsTest, ASizeMayLieWithinARun) {
  EXPECT_THAT(RunsOf(R"(graph @forward(%x : f32[4, 8]) {
    %a = torch.exp(%x) : f32[4, 8]
    %s = .size(%x, 0)
    %b = torch.add(%a, %x) : f32[4, 8]
    %t = .size(%x, 1)
    %v = .view(%b, %t, %s) : f32[8, 4]
    return (%v,)
  })"),
              ElementsAre(ElementsAre("a", "s", "b")));
}

TEST(GroupRunsTest, CallsWithoutSizesAreInNoRun) {
  EXPECT_THAT(RunsOf(R"(graph @forward(%x) {
    %a = torch.exp(%x)
    %b = torch.add(%a, %x)
    return (%b,)
  })"),
              IsEmpty());
}

// A linear layer is a product and a sum. The sum would be in the group of exp, but not the product.
TEST(GroupRunsTest, ACallThatIsOnlyPartlyInAGroupIsInNone) {
  EXPECT_THAT(RunsOf(R"(graph @forward(%x : f32[4, 8], %w : f32[8, 8], %b : f32[8]) {
    %m = torch.nn.functional.linear(%x, %w, %b) : f32[4, 8]
    %a = torch.exp(%m) : f32[4, 8]
    return (%a,)
  })"),
              IsEmpty());
}

// Written out, the size would have 2^60 terms.
TEST(GroupRunsTest, ASharedSizeIsVisitedOnce) {
  const auto sample = ParseSample(R"(symbol S0 = 2
  graph @forward(%x : f32[S0]) {
    %a = torch.exp(%x) : f32[S0]
    %b = torch.sin(%a) : f32[S0]
    return (%b,)
  })",
                                  "test");
  ASSERT_OK(sample.status());
  Module& module = *sample->module;
  const SymExpr* size = module.SymSymbol("S0");
  for (int i = 0; i < 60; ++i) size = module.SymBinary(SymExpr::Kind::kMul, size, size);
  TensorMeta meta = *module.main()->placeholders()[0]->tensor_meta();
  const Dim shape[] = {Dim(size)};
  meta.shape = shape;
  for (Node* node : module.main()->nodes())
    if (!node->is_output()) node->set_meta(module.InternValueMeta(meta));
  const auto runs = GroupRuns(module);
  ASSERT_OK(runs.status());
  ASSERT_EQ(runs->size(), 1);
  EXPECT_EQ((*runs)[0].size(), 2);
}

}  // namespace
}  // namespace graphnet::pir

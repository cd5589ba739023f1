#include "graphnet/interp/inputs/scale_weights.h"

#include <cmath>
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/text/parser.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// Returns the square of each new deviation times its fan-in, which is 2, by name; for a factor, its
// new mean.
std::map<std::string, double> Scaled(const std::string& graph) {
  absl::StatusOr<std::unique_ptr<Module>> module =
      ParseModule("graphnet.module 1\n\n" + graph + "end\n", "test.gn");
  EXPECT_OK(module);
  if (!module.ok()) return {};
  Sample sample;
  sample.module = *std::move(module);
  const auto scaled = ScaleDrawnWeights(&sample);
  EXPECT_OK(scaled);
  std::map<std::string, double> terms;
  if (!scaled.ok()) return terms;
  for (const ScaledWeight& weight : *scaled)
    terms[weight.name] =
        weight.after == weight.before ? 1 : std::round(2 / weight.after / weight.after);
  // The specs agree with the report, and a second call changes nothing.
  for (const Node* node : sample.module->main()->placeholders()) {
    if (!terms.contains(std::string(node->target()))) continue;
    EXPECT_TRUE(node->draw_spec()->has_mean && node->draw_spec()->has_std);
  }
  EXPECT_THAT(*ScaleDrawnWeights(&sample), IsEmpty());
  return terms;
}

TEST(ScaleWeightsTest, WeightsOfLayersAndProducts) {
  EXPECT_THAT(
      Scaled(
          R"(graph @forward(%x : f32[2, 8], %w : f32[4, 8] {mean = 0.0, std = 0.02}, %b : f32[4]) {
  %y = torch.nn.functional.linear(%x, %w, %b)
  return (%y,)
}
)"),
      ElementsAre(Pair("w", 8)));
  EXPECT_THAT(
      Scaled(R"(graph @forward(%x : f32[1, 3, 8, 8], %w : f32[6, 3, 5, 5], %d : f32[6, 1, 3, 3]) {
  %y = torch.conv2d(%x, %w, None, (1, 1), (0, 0), (1, 1), 1)
  %z = torch.conv2d(%y, %d, None, (1, 1), (1, 1), (1, 1), 6)
  return (%z,)
}
)"),
      ElementsAre(Pair("d", 9), Pair("w", 75)));
  EXPECT_THAT(
      Scaled(R"(graph @forward(%x : f32[2, 8], %w : f32[8, 4], %v : f32[5, 4], %b : f32[5]) {
  %y = operator.matmul(%x, %w)
  %t = .t(%v)
  %z = aten.addmm.default(%b, %y, %t)
  return (%z,)
}
)"),
      ElementsAre(Pair("v", 4), Pair("w", 8)));
}

TEST(ScaleWeightsTest, WeightsBehindCallsAreFound) {
  EXPECT_THAT(Scaled(R"(graph @forward(%x : bf16[2, 8], %w : f32[4, 8]) {
  %c = .to(%w, torch.bfloat16)
  %y = torch._C._nn.linear(%x, %c)
  return (%y,)
}
)"),
              ElementsAre(Pair("w", 8)));
}

TEST(ScaleWeightsTest, FactorsOfNearlyZeroBecomeOne) {
  EXPECT_THAT(
      Scaled(
          R"(graph @forward(%x : f32[2, 8], %g : f32[8] {mean = 0.0, std = 0.0}, %h : f32[8] {mean = 1e-6, std = 0.0}, %k : f32[8] {mean = 0.5, std = 0.0}) {
  %a = torch.mul(%x, %g)
  %b = operator.mul(%h, %a)
  %c = .mul(%b, %k)
  return (%c,)
}
)"),
      ElementsAre(Pair("g", 1), Pair("h", 1)));
}

TEST(ScaleWeightsTest, DataAndLiteralsStay) {
  EXPECT_THAT(
      Scaled(
          R"(graph @forward(%q : f32[2, 8], %k : f32[2, 8], %w : f32[2, 2] {data = [1.0, 2.0, 3.0, 4.0]}) {
  %a = torch.relu(%q)
  %b = torch.add(%k, %a)
  %t = .t(%b)
  %s = torch.matmul(%a, %t)
  %y = torch.matmul(%s, %w)
  return (%y,)
}
)"),
      IsEmpty());
}

}  // namespace
}  // namespace graphnet

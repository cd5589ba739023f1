#include "graphnet/facts/shapes/infer_shapes.h"

#include "gmock/gmock.h"
#include "graphnet/ir/text/printer.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet {
namespace {

TEST(InferShapesByRulesTest, RulesGoAsFarAsOperatorsAreKnown) {
  const ParsedModule module = Parse(R"(graph @forward(%x : f32[2, 3], %w : f32[4, 3]) {
  %a = torch.nn.functional.linear(%x, %w)
  %b = .to(%a, torch.float16)
  %c = torch.split(%b, 2, dim = 1)
  %d = operator.getitem(%c, 0)
  %e = mylib.f(%d)
  %f = torch.relu(%e)
  return (%f,)
}
)");
  const auto unknown = InferShapesByRules(module.get());
  ASSERT_OK(unknown);
  EXPECT_EQ(*unknown, 3u);  // the part of a split, mylib.f, and what relu makes of it
  EXPECT_EQ(PrintModule(*module, {.header = false}),
            R"(graph @forward(
  %x : f32[2, 3],
  %w : f32[4, 3]
) {
  %a = torch.nn.functional.linear(%x, %w) : f32[2, 4]
  %b = .to(%a, torch.float16) : f16[2, 4]
  %c = torch.split(%b, 2, dim = 1)
  %d = operator.getitem(%c, 0) : f16
  %e = mylib.f(%d)
  %f = torch.relu(%e)
  return (%f,)
}
)");
}

}  // namespace
}  // namespace graphnet

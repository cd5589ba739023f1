#include "graphnet/passes/explicit_operators.h"

#include <gtest/gtest.h>

#include <string>

#include "gmock/gmock.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

std::string Written(const std::string& body) {
  const auto module = ParseModule(
      "graph @forward(%f : f32[2, 3], %h : f16[2, 3], %d : f64[2, 3], %i : i64[2, 3], %s : i32[3], "
      "%b : bool[2, 3], %z : i64[], %n as torch.SymInt) {\n" +
          body + "  return (%r,)\n}\n",
      "test");
  EXPECT_OK(module);
  if (!module.ok()) return {};
  PassRun run;
  const auto changed = ExplicitOperators(module->get(), run);
  EXPECT_OK(changed);
  EXPECT_OK(Verify(**module));
  PassRun again;
  EXPECT_THAT(ExplicitOperators(module->get(), again), IsOkAndHolds(false));
  PrintOptions options;
  options.header = false;
  return *changed ? PrintModule(**module, options) : "as it was";
}

// The casts go to torch.result_type of the operands, the dtype in which PyTorch computes.
TEST(ExplicitOperatorsTest, CastsWhatIsPromoted) {
  EXPECT_THAT(Written("  %r = operator.mul(%f, %b)\n"),
              HasSubstr("%to = .to(%b, torch.float32)\n  %r = operator.mul(%f, %to)"));
  EXPECT_THAT(Written("  %r = torch.add(%i, %f, alpha = 2)\n"),
              HasSubstr("%to = .to(%i, torch.float32)\n  %r = torch.add(%to, %f, alpha = 2)"));
  EXPECT_THAT(Written("  %r = .ge(%s, other = %i)\n"),
              HasSubstr("%to = .to(%s, torch.int64)\n  %r = .ge(%to, other = %i)"));
  EXPECT_THAT(Written("  %r = torch.where(%b, %f, %i)\n"),
              HasSubstr("%r = torch.where(%b, %f, %to)"));
  EXPECT_THAT(Written("  %r = operator.sub(%h, %d)\n"), HasSubstr(".to(%h, torch.float64)"));
  // A tensor made from a float literal has the default dtype, as with torch.zeros.
  EXPECT_THAT(Written("  %t = torch.tensor(2.5)\n  %m = operator.mul(%f, %t)\n"
                      "  %r = operator.mul(%m, %i)\n"),
              HasSubstr("%to = .to(%i, torch.float32)\n  %r = operator.mul(%m, %to)"));
  EXPECT_THAT(Written("  %t = operator.truediv(%i, 128)\n  %r = operator.mul(%t, %i)\n"),
              HasSubstr("%to = .to(%i, torch.float32)\n  %r = operator.mul(%t, %to)"));
  EXPECT_EQ(Written("  %t = torch.div(%i, %i, rounding_mode = \"floor\")\n"
                    "  %r = operator.mul(%t, %f)\n"),
            "as it was");
  // A tensor without dimensions does not promote one of the same kind.
  EXPECT_THAT(Written("  %r = operator.add(%s, %z)\n"), HasSubstr(".to(%z, torch.int32)"));
  EXPECT_THAT(Written("  %r = operator.add(%b, %z)\n"), HasSubstr(".to(%b, torch.int64)"));
}

TEST(ExplicitOperatorsTest, WhatIsWrittenToDecides) {
  EXPECT_THAT(Written("  %r = operator.imul(%f, %b)\n"),
              HasSubstr("%to = .to(%b, torch.float32)\n  %r = .mul_(%f, %to)"));
  EXPECT_THAT(Written("  %r = .add_(%h, %f)\n"), HasSubstr("%r = .add_(%h, %to)"));
  EXPECT_THAT(Written("  %r = operator.iand(%b, %b)\n"), HasSubstr("%r = .bitwise_and_(%b, %b)"));
}

TEST(ExplicitOperatorsTest, WhatAgreesOrIsNotKnownStays) {
  EXPECT_EQ(Written("  %r = operator.mul(%f, %f)\n"), "as it was");
  EXPECT_EQ(Written("  %r = operator.mul(%f, 2)\n"), "as it was");
  EXPECT_EQ(Written("  %r = operator.iadd(%n, 2)\n"), "as it was");
  EXPECT_EQ(Written("  %q = mylib.f(%f)\n  %r = operator.mul(%f, %q)\n"), "as it was");
  EXPECT_EQ(Written("  %r = torch.where(%b, %f, %f)\n"), "as it was");
}

}  // namespace
}  // namespace graphnet

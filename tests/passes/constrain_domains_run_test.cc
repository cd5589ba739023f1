// Compares the table of domains with ATen: on unbounded inputs an operator yields nan or infinity
// or refuses; on inputs within the bounds of the pass it does not.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "graphnet/interp/domain.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/passes/constrain_domains.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

Sample SampleOf(const std::string& inputs, const std::string& call) {
  Sample sample;
  auto module =
      ParseModule(absl::StrCat("graph @forward(", inputs,
                               ") {\n  %v = .view(%x, -1)\n  %y = ", call, "\n  return (%y,)\n}\n"),
                  "test");
  EXPECT_OK(module);
  sample.module = *std::move(module);
  return sample;
}

bool IsFinite(const Sample& sample) {
  const auto values = DrawInputs(sample, {});
  EXPECT_OK(values);
  const auto found = FindNonFinite(*sample.module, *values);
  return found.ok() && !found->has_value();
}

struct Case {
  const char* input;
  const char* call;
};

class DomainTest : public testing::TestWithParam<Case> {};

TEST_P(DomainTest, BoundsKeepResultsFinite) {
  const Sample sample = SampleOf(GetParam().input, GetParam().call);
  EXPECT_FALSE(IsFinite(sample));
  PassRun run;
  EXPECT_THAT(ConstrainDomains(sample.module.get(), run), IsOkAndHolds(true));
  EXPECT_TRUE(IsFinite(sample));
  PassRun again;
  EXPECT_THAT(ConstrainDomains(sample.module.get(), again), IsOkAndHolds(false));
  EXPECT_TRUE(again.notes().empty());
}

constexpr char kWide[] = "%x : f32[4096] {mean = 0.5, std = 10.0}";
constexpr char kHalf[] = "%x : f16[4096] {mean = 0.5, std = 10.0}";
constexpr char kZero[] = "%x : f32[4] {mean = 0.0, std = 0.0}";
constexpr char kCut[] = "%x : f32[4096] {mean = -1.0, std = 10.0, max = 0}";
constexpr char kInts[] = "%x : i64[64] {min = 0, max = 3}";
constexpr char kFew[] = "%x : i64[64] {min = -3, max = 0}";

INSTANTIATE_TEST_SUITE_P(
    Operators, DomainTest,
    testing::Values(Case{kWide, "torch.sqrt(%v)"}, Case{kWide, "torch.rsqrt(%v)"},
                    Case{kWide, "torch.log(%v)"}, Case{kHalf, "torch.log(%v)"},
                    Case{kWide, "torch.log2(%v)"}, Case{kWide, "torch.log10(%v)"},
                    Case{kWide, "torch.log1p(%v)"}, Case{kWide, "torch.acos(%v)"},
                    Case{kWide, "torch.asin(%v)"}, Case{kWide, "torch.acosh(%v)"},
                    Case{kWide, "torch.atanh(%v)"}, Case{kHalf, "torch.atanh(%v)"},
                    Case{kWide, "torch.erfinv(%v)"}, Case{kWide, "torch.logit(%v)"},
                    Case{kHalf, "torch.logit(%v)"}, Case{kWide, "torch.special.ndtri(%v)"},
                    Case{kWide, "torch.special.entr(%v)"}, Case{kWide, "torch.xlogy(2.0, %v)"},
                    Case{kWide, "torch.special.xlog1py(2.0, %v)"},
                    Case{kWide, "operator.pow(%v, 0.5)"}, Case{kWide, "torch.pow(%v, -1.5)"},
                    Case{kZero, "operator.pow(%v, -2)"}, Case{kZero, "torch.reciprocal(%v)"},
                    Case{kZero, "operator.truediv(1, %v)"}, Case{kZero, "torch.div(%v, %v)"},
                    Case{kCut, "torch.div(%v, %v)"}, Case{kInts, "operator.truediv(1.0, %v)"},
                    Case{kInts, "torch.remainder(%v, %v)"},
                    Case{kFew, "torch.floor_divide(%v, %v)"}, Case{kZero, "torch.fmod(%v, %v)"},
                    Case{kWide, "torch.bernoulli(%v)"}, Case{kWide, "torch.poisson(%v)"},
                    Case{kWide, "torch.multinomial(%v, 2)"},
                    Case{kWide, "torch.nn.functional.binary_cross_entropy(%v, %v)"}));

std::string Notes(const std::string& inputs, const std::string& call) {
  const Sample sample = SampleOf(inputs, call);
  PassRun run;
  EXPECT_OK(ConstrainDomains(sample.module.get(), run));
  std::string notes;
  for (const PassNote& note : run.notes())
    absl::StrAppend(&notes, note.is_warning ? "warning: " : "", note.what, "\n");
  return notes;
}

TEST(ConstrainDomainsTest, SaysWhatIsDrawnAndWanted) {
  EXPECT_THAT(Notes("%x : f32[4] {mean = 1.0, std = 5.0}", "torch.sqrt(%v)"),
              HasSubstr("%y: x, drawn from -5 to 7, must be at least 0 for sqrt"));
}

TEST(ConstrainDomainsTest, WhatNoBoundMendsIsAWarning) {
  EXPECT_THAT(Notes("%x : f32[2] {data = [4.0, -1.0]}", "torch.sqrt(%v)"),
              HasSubstr("warning: %y: x, drawn from -1 to 4, must be at least 0 for sqrt, "
                        "but no bounds ensure it"));
  EXPECT_THAT(Notes("%x : f32[2] {mean = 1.0, std = 5.0, max = -1}", "torch.sqrt(%v)"),
              HasSubstr("warning: "));
}

TEST(ConstrainDomainsTest, BoundsThatContradictEachOtherAreNone) {
  for (const char* const input : {"%x : i64[4] {min = 0, max = 0}",
                                  "%x : f32[4] {mean = 0.0, std = 0.0, min = 0, max = 0}"}) {
    EXPECT_THAT(Notes(input, "torch.div(%v, %v)"),
                AllOf(HasSubstr("warning: %y: x, drawn from "),
                      HasSubstr("must be other than 0 for div, but no bounds ensure it\n")));
  }
  // Each call alone has bounds, but no bounds suit both, so the sample stays as it is.
  const Sample sample = SampleOf("%x : f32[4]", "torch.atanh(%v)\n  %z = torch.acosh(%v)");
  PassRun run;
  EXPECT_THAT(ConstrainDomains(sample.module.get(), run), IsOkAndHolds(false));
  EXPECT_EQ(sample.module->main()->placeholders()[0]->draw_spec(), nullptr);
  ASSERT_EQ(run.notes().size(), 1u);
  EXPECT_TRUE(run.notes()[0].is_warning);
  EXPECT_THAT(run.notes()[0].what,
              HasSubstr("%z: x, drawn from -0.12 to 0.12, must be at least 1 for acosh, but no "
                        "bounds ensure it and suit atanh, too"));
}

// The bound of one call may be a value that the other does not take.
TEST(ConstrainDomainsTest, AllCallsOfAnInputAreMinded) {
  const Sample sample = SampleOf("%x : f32[64]", "torch.div(1.0, %v)\n  %z = torch.sqrt(%v)");
  PassRun run;
  EXPECT_THAT(ConstrainDomains(sample.module.get(), run), IsOkAndHolds(true));
  EXPECT_EQ(sample.module->main()->placeholders()[0]->draw_spec()->min, Argument(1e-6));
}

TEST(ConstrainDomainsTest, NothingToSay) {
  EXPECT_EQ(Notes("%x : f32[4] {mean = 1.0, std = 0.5}", "torch.log(%v)"), "");
  EXPECT_EQ(Notes(kWide, "torch.logit(%v, 1e-06)"), "");
  EXPECT_EQ(Notes(kWide, "operator.pow(%v, 2)"), "");
  EXPECT_EQ(Notes(kWide, "torch.div(1.0, %v)"), "");  // 0 is as likely as any other number.
  EXPECT_EQ(Notes(kInts, "torch.sqrt(%v)"), "");
  // Nothing is known about a value that is written to.
  EXPECT_EQ(Notes(kWide, ".abs_(%v)\n  %z = torch.sqrt(%x)"), "");
}

}  // namespace
}  // namespace graphnet

#include "graphnet/validate/report.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

using testing::HasSubstr;

ValidationReport WithFault() {
  ValidationReport report;
  report.original_operators = 10;
  report.piece_operators = {3, 3, 4};
  report.Add(ErrorClass::kNumbers, 1, "relu", "output 0 differs");
  report.numeric = NumericReport{
      .outputs = 1, .bit_equal = 0, .max_difference = 0.5, .line = {{-1, 0.1}, {0, 0.1}, {1, 1}}};
  return report;
}

TEST(ReportTest, Json) {
  const std::string json = ReportOf(WithFault()).ToJson().Dump();
  EXPECT_THAT(json, HasSubstr("\"valid\": false"));
  EXPECT_THAT(json, HasSubstr("\"class\": \"E6\""));
  EXPECT_THAT(json, HasSubstr("\"piece\": 1"));
  EXPECT_THAT(json, HasSubstr("\"max_difference\": 0.5"));
}

TEST(ReportTest, FindingsOfOneClassAreBounded) {
  ValidationReport report;
  for (int i = 0; i < 100; ++i) report.Add(ErrorClass::kPort, i, "", "x");
  report.Add(ErrorClass::kGraph, 0, "", "y");
  EXPECT_EQ(report.findings.size(), kMaxFindings + 1);
}

TEST(ReportTest, LineIsFlatOnlyAtOne) {
  ValidationReport report = WithFault();
  EXPECT_FALSE(report.numeric->IsFlat());
  for (ToleranceScore& point : report.numeric->line) point.score = 1;
  EXPECT_TRUE(report.numeric->IsFlat());
}

TEST(ReportTest, Svg) {
  const std::string svg = ScoreLineSvg("a <b> & c", *WithFault().numeric);
  EXPECT_THAT(svg, HasSubstr("a &lt;b&gt; &amp; c"));
  // The step is at t = 1, where the score changes.
  EXPECT_THAT(svg, HasSubstr("polyline points=\"48.0,181.8 256.0,181.8 464.0,181.8 464.0,54.2 \""));
}

}  // namespace
}  // namespace graphnet

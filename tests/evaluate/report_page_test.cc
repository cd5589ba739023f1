#include "graphnet/evaluate/report_page.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/evaluate/log_writer.h"
#include "graphnet/evaluate/plot.h"
#include "graphnet/evaluate/speed_summary.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/evaluate/samples.h"

namespace graphnet {
namespace {

using testing::HasSubstr;

Curve CurveOf(const std::string& text, const std::string& file, const ScoreOptions& options = {}) {
  auto log = ParseLog(text, file);
  EXPECT_OK(log);
  auto curve = MakeCurve(*std::move(log), options);
  EXPECT_OK(curve);
  return *std::move(curve);
}

size_t Count(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(ReportPageTest, NamesStayText) {
  const std::string attack = "</script><script>alert(1)</script>@DATA@]]>&lt;'\"";
  const std::string text =
      WriteLog(MakeSample(attack, 2, -5)) +
      WriteLog(MakeFailure(attack + "2", Outcome::kRuntimeFail, "Error: " + attack));
  const std::vector<Curve> curves = {CurveOf(text, attack + ".log")};
  const std::string page = WriteReportPage(curves, {});
  // Otherwise browsers ignore the page's security policy.
  EXPECT_TRUE(absl::StartsWith(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"));
  EXPECT_EQ(Count(page, "<script"), 2);
  EXPECT_EQ(Count(page, "</script>"), 2);
  EXPECT_FALSE(absl::StrContains(page, "src="));
  EXPECT_FALSE(absl::StrContains(page, "href="));
  EXPECT_EQ(Count(WritePlots(curves), "<script"), 0);
}

TEST(ReportPageTest, OpensWithASentence) {
  std::string text;
  for (int i = 1; i <= 7; ++i)
    absl::StrAppend(&text, WriteLog(MakeSample(absl::StrCat("a", i), 0.5 * i, -5)));
  absl::StrAppend(&text, WriteLog(MakeSample("close", 9, -4)),
                  WriteLog(MakeFailure("b", Outcome::kCompileFail)));
  // The sign test drops no value of seven: the chance that all are on one side is 1/64.
  EXPECT_THAT(
      WriteReportPage({CurveOf(text, "one.log")}, {}),
      HasSubstr("one is right on 7 of 9 samples (t = −5), and faster than eager on 5 of them, "
                "slower on 1 and as fast on 1; the median speedup is 2 (95 %: 0.5 to 3.5)."));
  EXPECT_THAT(
      WriteReportPage({CurveOf(WriteLog(MakeFailure("b", Outcome::kCompileFail)), "two.log")}, {}),
      HasSubstr("two is right on none of 1 samples"));
}

TEST(SpeedSummaryTest, WinsAreBeyondTheSpread) {
  std::vector<LoggedSample> samples(4);
  for (LoggedSample& sample : samples) sample.correct_levels = 0xFFFF;
  const double speedups[] = {1.1, 1.2, 0.9, 0.8}, lows[] = {0.9, 1.1, 0.8, 0.7},
               highs[] = {1.3, 1.3, 1.1, 0.9};
  for (int i = 0; i < 4; ++i) {
    samples[i].speedup = speedups[i];
    samples[i].speedup_low = lows[i];
    samples[i].speedup_high = highs[i];
  }
  SpeedSummary summary = Summarize(samples);
  EXPECT_EQ(summary.right, 4);
  EXPECT_EQ(summary.faster, 1);
  EXPECT_EQ(summary.slower, 1);
  EXPECT_EQ(summary.as_fast, 2);
  EXPECT_DOUBLE_EQ(summary.median, 1);
  EXPECT_FALSE(summary.interval.has_value());  // of four, all are on one side too often
  samples.resize(100, samples[0]);
  for (int i = 0; i < 100; ++i) samples[i].speedup = i + 1;
  summary = Summarize(samples);
  ASSERT_TRUE(summary.interval.has_value());
  // The 40th and the 61st, as tables of the sign test have it.
  EXPECT_EQ(summary.interval->low, 40);
  EXPECT_EQ(summary.interval->high, 61);
}

TEST(PlotTest, DrawsEachLevelOfEachCurve) {
  const std::vector<Curve> curves = {
      CurveOf(WriteLog(MakeSample("a", 2, -5)) + WriteLog(MakeSample("b", 0.5, -2)), "one.log"),
      CurveOf(WriteLog(MakeFailure("a", Outcome::kCompileFail)), "two.log")};
  const std::string svg = WritePlots(curves);
  EXPECT_EQ(Count(svg, "class=\"macro\""), 2 * 2 * 15);
  EXPECT_EQ(Count(svg, "class=\"body\""), 1);  // no sample of the second curve ran
  EXPECT_EQ(Count(svg, ">one (2)<"), 1);
  EXPECT_FALSE(absl::StrContains(svg, "nan"));
  EXPECT_FALSE(absl::StrContains(svg, "inf"));
}

TEST(PlotTest, ManyCurvesAndExtremes) {
  std::vector<Curve> curves;
  for (int i = 0; i < 100; ++i) {
    SampleResult extreme = MakeSample("x", i % 2 == 0 ? 1e300 : 1e-4, -10);
    curves.push_back(CurveOf(WriteLog(extreme), absl::StrCat("log", i, ".log")));
  }
  const std::string svg = WritePlots(curves);
  EXPECT_TRUE(absl::StrContains(svg, "and 60 more"));
  EXPECT_LT(svg.size(), size_t{4} << 20);
  EXPECT_FALSE(absl::StrContains(svg, "nan"));
}

}  // namespace
}  // namespace graphnet

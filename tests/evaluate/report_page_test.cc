#include "graphnet/evaluate/report_page.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/evaluate/log_writer.h"
#include "graphnet/evaluate/plot.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/evaluate/samples.h"

namespace graphnet {
namespace {

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

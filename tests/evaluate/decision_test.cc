#include "graphnet/evaluate/decision.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

Curve CurveOf(const std::string& name, const std::vector<double>& speedups) {
  Curve curve;
  curve.log.name = name;
  for (size_t i = 0; i < speedups.size(); ++i) {
    LoggedSample& sample = curve.log.samples.emplace_back();
    sample.path = absl::StrCat("s", i);
    sample.speedup = speedups[i];
    sample.correct_levels = speedups[i] > 0 ? 0xffff : 0;
  }
  return curve;
}

TEST(CompareSpeedsTest, IsTheGeometricMeanOverWhatBothGetRight) {
  const Curve a = CurveOf("a", {2, 4, 0, 3});
  const Curve b = CurveOf("b", {1, 2, 5, 3});
  const PairOfSpeeds pair = CompareSpeeds(a.log, b.log);
  EXPECT_EQ(pair.samples, 3);
  EXPECT_NEAR(pair.ratio, std::cbrt(2.0 * 2.0 * 1.0), 1e-12);
  // R: t.test(log(c(2, 2, 1))) has the interval -0.532 to 1.456.
  ASSERT_TRUE(pair.interval.has_value());
  EXPECT_NEAR(std::log(pair.interval->low), -0.532, 0.06);
  EXPECT_NEAR(std::log(pair.interval->high), 1.456, 0.06);
  EXPECT_FALSE(CompareSpeeds(CurveOf("a", {2}).log, b.log).interval.has_value());
  EXPECT_EQ(CompareSpeeds(CurveOf("a", {0, 0}).log, b.log).samples, 0);
}

TEST(DecisionTextTest, SaysWhichIsFasterAndWhatFails) {
  std::vector<Curve> curves = {CurveOf("slow", {1.1, 1.2, 1.1, 1.2, 1.1, 1.2, 0}),
                               CurveOf("fast", {2.2, 2.4, 2.3, 2.4, 2.2, 2.5, 2.2})};
  curves[0].causes = {{"accuracy", "aten.gelu", "f32", 1, ""}};
  std::string text = DecisionText(curves);
  EXPECT_EQ(text.find("On the 6 samples that both get right, fast is 2.03 times as fast as slow "
                      "(95 %: 1.98 to 2.08). slow is right on 6 of 7 samples"),
            0)
      << text;
  EXPECT_NE(text.find(" It fails on 1 sample: 1 accuracy, for 1 cause, most often aten.gelu "
                      "(accuracy, 1 sample). fast is right on 7 of 7 samples"),
            std::string::npos)
      << text;
  curves[1] = CurveOf("fast", {1.2, 1.1, 1.2, 1.1, 1.2, 1.1, 1});
  text = DecisionText(curves);
  EXPECT_NE(text.find("are as fast as each other: their ratio is 1 (95 %: "), std::string::npos)
      << text;
  curves[1] = CurveOf("fast", {0, 0, 0, 0, 0, 0, 2});
  EXPECT_EQ(DecisionText(curves).find("No sample is right with both fast and slow. "), 0)
      << DecisionText(curves);
}

TEST(DecisionTextTest, OneLogIsNotCompared) {
  const std::vector<Curve> one = {CurveOf("only", {2, 3})};
  EXPECT_EQ(DecisionText(one).find("only is right on 2 of 2 samples"), 0) << DecisionText(one);
  EXPECT_EQ(DecisionText(one).find("It fails"), std::string::npos);
}

}  // namespace
}  // namespace graphnet

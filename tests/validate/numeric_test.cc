#include "graphnet/validate/numeric.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graphnet/decompose/range_decomposer.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/decompose/chain_testing.h"
#include "tests/validate/cnn_testing.h"

namespace graphnet {
namespace {

using testing::HasSubstr;

std::vector<Sample> Cut(const Sample& sample, const std::vector<Range>& ranges, Style style) {
  return CutRanges(sample, ranges, {.style = style}).value();
}

ValidationReport Validate(const Sample& original, const std::vector<Sample>& pieces, Style style) {
  ValidationReport report;
  EXPECT_OK(ValidateNumbers(original, pieces, style, {}, &report));
  EXPECT_TRUE(report.numeric.has_value());
  return report;
}

double ScoreAt(const ValidationReport& report, int t) {
  return report.numeric->line[static_cast<size_t>(t - kFirstTolerance)].score;
}

TEST(NumericTest, PiecesOfTheCnn) {
  const Sample original = ParseFragment(kCnn);
  for (const Style style : {Style::kChain, Style::kDag}) {
    const ValidationReport report =
        Validate(original, Cut(original, {{0, 3}, {3, 6}, {6, 10}}, style), style);
    EXPECT_OK(report.status());
    EXPECT_EQ(report.numeric->outputs, 1u);
    EXPECT_EQ(report.numeric->bit_equal, 1u);
    EXPECT_TRUE(report.numeric->IsFlat());
  }
}

TEST(NumericTest, WrongNumbersNameTheirPlace) {
  const Sample original = ParseFragment(kCnn);
  std::vector<Sample> pieces = Cut(original, {{0, 3}, {3, 6}, {6, 10}}, Style::kChain);
  pieces[1].module->main()->FindNode("input_5")->set_target("torch.tanh");
  pieces[1].module->main()->FindNode("input_5")->set_kwargs({});
  const ValidationReport report = Validate(original, pieces, Style::kChain);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].error, ErrorClass::kNumbers);
  EXPECT_EQ(report.findings[0].piece, 1);
  EXPECT_EQ(report.findings[0].where, "input_5");
  EXPECT_THAT(report.findings[0].message,
              HasSubstr("the first difference is in %input_5 = torch.tanh"));
  EXPECT_EQ(ScoreAt(report, -5), kFailedScore);
  EXPECT_EQ(ScoreAt(report, 1), 1);
  EXPECT_GT(report.numeric->max_difference, 0);
}

TEST(NumericTest, ATolerableDifferenceIsStillAFault) {
  const Sample original = ParseFragment(R"(
graph @forward(%x : f32[8] {mean = 1.0, std = 0.5}) {
  %a = operator.mul(%x, 2.0)
  %b = operator.add(%a, 1.0)
  return (%b,)
}
)");
  std::vector<Sample> pieces = Cut(original, {{0, 1}, {1, 2}}, Style::kChain);
  pieces[1].module->main()->FindNode("b")->set_args(
      {pieces[1].module->main()->FindNode("a"), 1.001});
  const ValidationReport report = Validate(original, pieces, Style::kChain);
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(ScoreAt(report, -5), kFailedScore);
  EXPECT_EQ(ScoreAt(report, -1), 1);
  EXPECT_FALSE(report.numeric->IsFlat());
}

// A scale of 0, which untrained layers may have, hides the values before it.
TEST(NumericTest, ADifferenceThatNoOutputShowsIsNoted) {
  const Sample original = ParseFragment(R"(
graph @forward(%x : f32[8] {mean = 1.0, std = 0.5}) {
  %a = torch.relu(%x)
  %b = operator.mul(%a, 0.0)
  return (%b,)
}
)");
  std::vector<Sample> pieces = Cut(original, {{0, 1}, {1, 2}}, Style::kChain);
  const auto is_blind = HasSubstr("the comparison is blind: zeros would have passed as o0");
  EXPECT_THAT(Validate(original, pieces, Style::kChain).notes, testing::ElementsAre(is_blind));
  pieces[0].module->main()->FindNode("a")->set_target("torch.exp");
  const ValidationReport report = Validate(original, pieces, Style::kChain);
  EXPECT_EQ(report.numeric->bit_equal, 1u);
  EXPECT_THAT(
      report.notes,
      testing::ElementsAre(HasSubstr("first in piece 0, %a = torch.exp, but no output"), is_blind));
}

TEST(NumericTest, APieceThatDoesNotRun) {
  const Sample original = ParseFragment(kCnn);
  std::vector<Sample> pieces = Cut(original, {{0, 3}, {3, 6}, {6, 10}}, Style::kDag);
  pieces[2].module->main()->FindNode("input_7")->set_target("torch.no_such_function");
  const ValidationReport report = Validate(original, pieces, Style::kDag);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].error, ErrorClass::kRuntime);
  EXPECT_EQ(report.findings[0].piece, 2);
  EXPECT_EQ(ScoreAt(report, 2), kFailedScore);
  EXPECT_EQ(ScoreAt(report, 3), 1);
}

TEST(NumericTest, AMetaThatTheRunContradicts) {
  const Sample original = ParseFragment(kCnn);
  std::vector<Sample> pieces = Cut(original, {{0, 3}, {3, 10}}, Style::kDag);
  TensorMeta meta;
  meta.dtype = DType::kFloat32;
  meta.has_shape = true;
  const std::vector<Dim> shape = {1, 16, 14, 15};
  meta.shape = shape;
  Node* port = pieces[1].module->main()->FindNode("input_3");
  port->set_meta(pieces[1].module->InternValueMeta(meta));
  const ValidationReport report = Validate(original, pieces, Style::kDag);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].Text(),
            "E4 port: piece 1: input 6 (%input_3) has another shape or dtype than its meta says: "
            "f32 [1, 16, 14, 14] "
            "when run");
}

TEST(NumericTest, RandomOperatorsAndWritesRunInOrder) {
  const Sample original = ParseFragment(R"(
graph @forward(%x : f32[4, 4] {mean = 0.0, std = 1.0}) {
  %a = torch.rand_like(%x)
  %b = operator.add(%a, %x)
  %c = .add_(%x, 1)
  %d = torch.rand_like(%x)
  %e = operator.mul(%b, %d)
  return (%e, %x)
}
)");
  for (const Style style : {Style::kChain, Style::kDag}) {
    const ValidationReport report =
        Validate(original, Cut(original, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}}, style), style);
    EXPECT_OK(report.status());
    EXPECT_EQ(report.numeric->bit_equal, 2u);
  }
}

TEST(NumericTest, AnOriginalThatDoesNotRunIsAnError) {
  const Sample original =
      ParseFragment("graph @forward(%x : f32[2]) {\n  %a = torch.nothing(%x)\n  return (%a,)\n}\n");
  ValidationReport report;
  EXPECT_FALSE(
      ValidateNumbers(original, Cut(original, {{0, 1}}, Style::kChain), Style::kChain, {}, &report)
          .ok());
  EXPECT_FALSE(report.numeric.has_value());
}

}  // namespace
}  // namespace graphnet

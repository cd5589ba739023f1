#include "graphnet/evaluate/sample_result.h"

#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "graphnet/interp/inputs/wrong_answers.h"

namespace graphnet {
namespace {

constexpr absl::string_view kOutcomeNames[kNumOutcomes] = {
    "correct",        "accuracy",     "blind",        "not_finite", "type_mismatch",
    "shape_mismatch", "runtime_fail", "compile_fail", "eager_fail",
};

}  // namespace

absl::string_view OutcomeName(Outcome outcome) {
  return kOutcomeNames[static_cast<size_t>(outcome)];
}

std::optional<Outcome> OutcomeOfName(absl::string_view name) {
  for (int i = 0; i < kNumOutcomes; ++i) {
    if (kOutcomeNames[i] == name) return static_cast<Outcome>(i);
  }
  return std::nullopt;
}

std::string DescribeBlind(const std::vector<BlindOutput>& blind) {
  std::vector<PassedAnswer> passed;
  passed.reserve(blind.size());
  for (const BlindOutput& output : blind) passed.emplace_back(output.output, output.answer);
  return DescribeWrongAnswers(passed);
}

std::string DescribeRounding(const SampleRounding& rounding) {
  if (!rounding.level.has_value()) return rounding.text;
  return absl::StrCat(rounding.text, "; derived t = ", *rounding.level);
}

uint16_t SampleResult::CorrectLevels() const {
  // If nothing was compared, finding no difference proves nothing.
  if (status != Outcome::kCorrect || outputs.empty() || outputs.size() != eager_dtypes.size()) {
    return 0;
  }
  uint16_t levels = 0xffff;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ToleranceClass dtypes = ToleranceClassOf(eager_dtypes[i]);
    for (int t = kMinToleranceLevel; t <= kMaxToleranceLevel; ++t) {
      if (!outputs[i].IsRight(t, dtypes)) {
        levels &= static_cast<uint16_t>(~(1U << (t - kMinToleranceLevel)));
      }
    }
  }
  return levels;
}

Outcome SampleResult::Verdict() const {
  if (status != Outcome::kCorrect) return status;
  if (!IsRight()) return Outcome::kAccuracy;
  return blind.empty() ? Outcome::kCorrect : Outcome::kBlind;
}

double SampleResult::SpeedupBy(absl::string_view clock) const {
  for (const auto& [measure, speedup] : speedups) {
    if (measure == clock) return std::isfinite(speedup) && speedup > 0 ? speedup : 0;
  }
  return 0;
}

}  // namespace graphnet

// The result of running one sample with one compiler. A benchmark finds it out, a log stores it
// (log_writer.h, log_reader.h), and scores are made of it.
#ifndef GRAPHNET_EVALUATE_SAMPLE_RESULT_H_
#define GRAPHNET_EVALUATE_SAMPLE_RESULT_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/base/tolerance.h"
#include "graphnet/interp/rounding.h"

namespace graphnet {

// The outcome of a sample. As `SampleResult::status`, kCorrect means that both sides ran and their
// outputs could be compared. Whether the numbers are right depends on the tolerance; where they are
// not, the outcome is kAccuracy. Where they are, but a wrong answer would be right, too, it is
// kBlind.
enum class Outcome {
  kCorrect,
  kAccuracy,
  kBlind,
  kNotFinite,      // nan or inf where the expected output has none
  kTypeMismatch,   // outputs of other dtypes
  kShapeMismatch,  // outputs of other shapes, or another number of outputs
  kRuntimeFail,    // the compiled program fails
  kCompileFail,
  kEagerFail,  // the eager side does not run
};
inline constexpr int kNumOutcomes = 9;

// Returns the name that logs use, such as "compile_fail", and the outcome of a name.
absl::string_view OutcomeName(Outcome outcome);
std::optional<Outcome> OutcomeOfName(absl::string_view name);

// Statistics of the timed trials, in milliseconds; nan if a log of an older format lacks one.
struct TimeStatistics {
  double median = std::numeric_limits<double>::quiet_NaN();
  double iqr = std::numeric_limits<double>::quiet_NaN();
  double mean = std::numeric_limits<double>::quiet_NaN();
  double std = std::numeric_limits<double>::quiet_NaN();
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
};

// The comparison of one output of the compiled program with the expected one.
struct OutputComparison {
  bool equal = false;
  uint64_t close = 0;  // a bit for each level and class
  double max_diff = 0;
  double mean_diff = 0;

  static uint64_t CloseBit(int t, ToleranceClass dtypes) {
    return uint64_t{1} << ((t - kMinToleranceLevel) * kNumToleranceClasses +
                           static_cast<int>(dtypes));
  }
  void SetClose(int t, ToleranceClass dtypes) { close |= CloseBit(t, dtypes); }
  bool IsRight(int t, ToleranceClass dtypes) const {
    return dtypes == ToleranceClass::kExact ? equal : (close & CloseBit(t, dtypes)) != 0;
  }
};

// An output as which a wrong answer would have passed (interp/inputs/wrong_answers.h).
struct BlindOutput {
  size_t output = 0;
  int from_t = kCustomaryToleranceLevel;  // the strictest level at which it passes, at most -5
  std::string answer;                     // "zeros"
};

// Returns "zeros would have passed as o0".
std::string DescribeBlind(const std::vector<BlindOutput>& blind);

// Says whether rounding explains the difference of the outputs (interp/rounding.h).
struct SampleRounding {
  std::optional<RoundingVerdict> verdict;  // of the worst output; nullopt if it is not known
  std::string text;                        // the finding, or why there is none
  // The strictest t that all differences pass which rounding explains; nullopt if that is none, or not
  // known.
  std::optional<int> level;
};
// Stands in logs for a verdict that is not known.
inline constexpr absl::string_view kUnknownRounding = "unknown";
// Returns "rounding: 0.8 of what rounding explains; derived t = -6".
std::string DescribeRounding(const SampleRounding& rounding);

// Values by the clock of the measurement: kEndToEnd (wall clock), "gpu" or "kernel".
inline constexpr absl::string_view kEndToEnd = "e2e";
template <typename T>
using ByMeasure = std::vector<std::pair<std::string, T>>;

static_assert(kNumToleranceLevels == 16 && kNumToleranceClasses == 4);  // the bits above

// The key of the configuration that says how weights were drawn if not by GraphNet's rule.
inline constexpr absl::string_view kDrawingKey = "drawing";

// The result of one sample with one compiler.
struct SampleResult {
  std::string path;
  // "model", "device", "hardware", "compiler", "warmup", "trials", "compile_framework_version".
  std::vector<std::pair<std::string, std::string>> config;
  Outcome status = Outcome::kCorrect;        // never kAccuracy or kBlind
  std::string reason;                        // of a failure: one line, or empty
  std::vector<std::string> eager_dtypes;     // empty if that side does not run
  std::vector<std::string> compiled_dtypes;  // empty if that side does not run
  // One for each eager dtype; of another length if the outputs could not be compared.
  std::vector<OutputComparison> outputs;
  std::vector<BlindOutput> blind;
  std::optional<SampleRounding> rounding;  // if it was asked
  ByMeasure<TimeStatistics> eager_times;
  ByMeasure<TimeStatistics> compiled_times;
  ByMeasure<double> speedups;
  ByMeasure<std::pair<double, double>> intervals;  // of the speedups of steady times, 95 %

  // Returns a bit for each level at which the numbers are right: 1 << (t - kMinToleranceLevel).
  uint16_t CorrectLevels() const;
  bool IsRight(int t = kCustomaryToleranceLevel) const {
    return (CorrectLevels() >> (t - kMinToleranceLevel) & 1) != 0;
  }
  // Returns the outcome at the customary t: kCorrect only if the numbers are right there and no
  // wrong answer would have been.
  Outcome Verdict() const;
  // Returns the speedup by a clock; 0 if there is none that is finite and above 0.
  double SpeedupBy(absl::string_view clock) const;
};

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_SAMPLE_RESULT_H_

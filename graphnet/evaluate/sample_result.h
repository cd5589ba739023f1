// What running one sample with one compiler has shown: what a benchmark finds out, a log holds
// (log_writer.h, log_reader.h) and a score is made of.
#ifndef GRAPHNET_EVALUATE_SAMPLE_RESULT_H_
#define GRAPHNET_EVALUATE_SAMPLE_RESULT_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/base/tolerance.h"

namespace graphnet {

// How a sample ended. As `SampleResult::status`, kCorrect says that both sides ran and their
// outputs could be compared; whether the numbers are right depends on the tolerance, and where
// they are not the outcome is kAccuracy.
enum class Outcome {
  kCorrect,
  kAccuracy,
  kNotFinite,      // nan or inf where the expected output has none
  kTypeMismatch,   // outputs of other dtypes
  kShapeMismatch,  // of other shapes, or another number of them
  kRuntimeFail,    // the compiled program fails
  kCompileFail,
  kEagerFail,  // what to compare with does not run
};
inline constexpr int kNumOutcomes = 8;

// "compile_fail".
absl::string_view OutcomeName(Outcome outcome);
std::optional<Outcome> OutcomeOfName(absl::string_view name);

// Milliseconds of the timed trials; nan where a log of an older format has none.
struct TimeStatistics {
  double median = std::numeric_limits<double>::quiet_NaN();
  double iqr = std::numeric_limits<double>::quiet_NaN();
  double mean = std::numeric_limits<double>::quiet_NaN();
  double std = std::numeric_limits<double>::quiet_NaN();
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
};

// An output of the compiled program against the expected one.
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

// What a run is measured by: "e2e", the wall clock; "gpu"; "kernel".
template <typename T>
using ByMeasure = std::vector<std::pair<std::string, T>>;

static_assert(kNumToleranceLevels == 16 && kNumToleranceClasses == 4);  // the bits above

struct SampleResult {
  std::string path;
  // "model", "device", "hardware", "compiler", "warmup", "trials", "compile_framework_version".
  std::vector<std::pair<std::string, std::string>> config;
  Outcome status = Outcome::kCorrect;        // never kAccuracy
  std::string reason;                        // of a failure: one line, or empty
  std::vector<std::string> eager_dtypes;     // empty if that side does not run
  std::vector<std::string> compiled_dtypes;  // ditto
  // One for each eager dtype; of another length if the outputs could not be compared.
  std::vector<OutputComparison> outputs;
  ByMeasure<TimeStatistics> eager_times;
  ByMeasure<TimeStatistics> compiled_times;
  ByMeasure<double> speedups;

  // The bits of all levels at which the numbers are right: 1 << (t - kMinToleranceLevel).
  uint16_t CorrectLevels() const;
  bool IsRight(int t = kCustomaryToleranceLevel) const {
    return (CorrectLevels() >> (t - kMinToleranceLevel) & 1) != 0;
  }
  // 0 if there is none that is finite and above 0.
  double EndToEndSpeedup() const;
};

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_SAMPLE_RESULT_H_

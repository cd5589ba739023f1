#include "graphnet/evaluate/log_writer.h"

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/json.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

// Limit of a line of names. A line with one value for each output may be longer.
constexpr size_t kMaxLineBytes = size_t{1} << 20;

constexpr size_t kMostBlind = 64;

// Formats a number like Python's repr.
std::string Number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return Json(value).Dump();
}

// Returns {"e2e": {"median": 1.79, …}, "gpu": {…}}.
std::string TimesText(const ByMeasure<TimeStatistics>& times) {
  std::vector<std::string> measures;
  for (const auto& [measure, s] : times) {
    const std::pair<const char*, double> members[] = {{"median", s.median}, {"iqr", s.iqr},
                                                      {"mean", s.mean},     {"std", s.std},
                                                      {"min", s.min},       {"max", s.max}};
    std::vector<std::string> known;
    for (const auto& [name, value] : members) {
      double rounded = 0;
      if (!std::isfinite(value) || !absl::SimpleAtod(absl::StrFormat("%.6g", value), &rounded))
        continue;
      known.push_back(absl::StrCat("\"", name, "\": ", Number(rounded)));
    }
    measures.push_back(
        absl::StrCat(Json(Printable(measure)).Dump(), ": {", absl::StrJoin(known, ", "), "}"));
  }
  return absl::StrCat("{", absl::StrJoin(measures, ", "), "}");
}

// Returns ['float32', 'int64'].
std::string DTypeList(const std::vector<std::string>& dtypes) {
  return absl::StrCat("[",
                      absl::StrJoin(dtypes, ", ",
                                    [](std::string* out, const std::string& dtype) {
                                      absl::StrAppend(out, "'", Printable(dtype), "'");
                                    }),
                      "]");
}

class LogWriter {
 public:
  LogWriter(const SampleResult& result, absl::string_view prompt)
      : result_(result), prompt_(prompt) {}

  std::string Write() {
    Line("[Processing] ", result_.path);
    for (const auto& [key, value] : result_.config) {
      Line("[Config] ", absl::StrCat(Printable(key), ": ", value));
    }
    const bool eager_ran = result_.status != Outcome::kEagerFail;
    const bool compiled_ran = eager_ran && result_.status != Outcome::kCompileFail &&
                              result_.status != Outcome::kRuntimeFail;
    if (eager_ran) Line("[Datatype][eager]: ", absl::StrJoin(result_.eager_dtypes, " "));
    if (compiled_ran) {
      Line("[Datatype][compiled]: ", absl::StrJoin(result_.compiled_dtypes, " "));
      const bool same = result_.status != Outcome::kTypeMismatch &&
                        result_.eager_dtypes.size() == result_.compiled_dtypes.size();
      Line("[DataType] ", absl::StrCat("eager:", DTypeList(result_.eager_dtypes),
                                       " compiled:", DTypeList(result_.compiled_dtypes),
                                       " match:", same ? "True" : "False"));
      if (same && !result_.outputs.empty()) {
        WriteComparisons();
      } else {
        // Readers that ignore [Status] conclude from comparisons, or from this line, that shapes
        // match.
        Line("[Shape] match:", result_.status == Outcome::kShapeMismatch ? "False" : "True");
      }
    }
    const bool success = result_.status == Outcome::kCorrect;
    Line("[Result] status: ", success ? "success" : "failed");
    if (!success && !compiled_ran) {
      Line("[Fail due to ",
           absl::StrCat(eager_ran ? "compiled" : "eager", " model execution error.]"));
    }
    // Most logs have few of these; a sample of thousands of outputs has no line for each.
    for (size_t i = 0; i < result_.blind.size() && i < kMostBlind; ++i) {
      const BlindOutput& blind = result_.blind[i];
      Line("[Blind] ", absl::StrCat(blind.output, " from t = ", blind.from_t, ": ", blind.answer));
    }
    if (result_.rounding.has_value()) {
      const SampleRounding& rounding = *result_.rounding;
      Line("[Rounding] ",
           absl::StrCat(
               rounding.verdict.has_value() ? RoundingVerdictName(*rounding.verdict)
                                            : kUnknownRounding,
               rounding.level.has_value() ? absl::StrCat(" from t = ", *rounding.level) : "", ": ",
               rounding.text));
    }
    Line("[Status] ", absl::StrCat(OutcomeName(result_.Verdict()),
                                   result_.reason.empty() ? "" : ": ", result_.reason));
    if (!result_.eager_times.empty()) {
      Line("[Performance][eager]: ", TimesText(result_.eager_times));
    }
    if (!result_.compiled_times.empty()) {
      Line("[Performance][compiled]: ", TimesText(result_.compiled_times));
    }
    for (const auto& [measure, speedup] : result_.speedups) {
      Line("[Speedup][", absl::StrFormat("%s]: %.5f", Printable(measure), speedup));
    }
    for (const auto& [measure, interval] : result_.intervals) {
      Line("[Interval][",
           absl::StrFormat("%s]: %.5f %.5f", Printable(measure), interval.first, interval.second));
    }
    return std::move(out_);
  }

 private:
  void Line(absl::string_view tag, absl::string_view text) {
    absl::StrAppend(&out_, prompt_, " ", tag, Printable(text, kMaxLineBytes), "\n");
  }

  // Writes a line with one value for each output, however many there are.
  template <typename Value>
  void PerOutput(absl::string_view what, Value value) {
    absl::StrAppend(&out_, prompt_, " [Correctness][", what, "]:");
    for (const OutputComparison& output : result_.outputs) {
      absl::StrAppend(&out_, " ", value(output));
    }
    out_ += '\n';
  }

  void WriteComparisons() {
    PerOutput("equal", [](const OutputComparison& output) { return output.equal ? 1 : 0; });
    for (int t = kMinToleranceLevel; t <= kMaxToleranceLevel; ++t) {
      for (int c = 0; c < kNumToleranceClasses; ++c) {
        const auto dtypes = static_cast<ToleranceClass>(c);
        PerOutput(ToleranceName(t, dtypes), [&](const OutputComparison& output) {
          return output.IsRight(t, dtypes) ? 1 : 0;
        });
      }
    }
    PerOutput("max_diff", [](const OutputComparison& output) { return Number(output.max_diff); });
    PerOutput("mean_diff", [](const OutputComparison& output) { return Number(output.mean_diff); });
  }

  const SampleResult& result_;
  absl::string_view prompt_;
  std::string out_;
};

}  // namespace

std::string WriteLog(const SampleResult& result, absl::string_view prompt) {
  return LogWriter(result, prompt).Write();
}

}  // namespace graphnet

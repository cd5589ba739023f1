// Reads a whole benchmark log and keeps, for each sample, the values that scores are made of.
#ifndef GRAPHNET_EVALUATE_LOG_H_
#define GRAPHNET_EVALUATE_LOG_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/evaluate/sample_result.h"

namespace graphnet {

// Limits of a log that is read.
inline constexpr size_t kMaxLogBytes = size_t{4} << 30;
inline constexpr size_t kMaxLogSamples = 10'000'000;

// The values of one sample that scores are made of.
struct LoggedSample {
  std::string path;
  size_t line = 0;  // of its [Processing] line
  Outcome status = Outcome::kCorrect;
  uint16_t correct_levels = 0;  // SampleResult::CorrectLevels
  double speedup = 0;           // by the clock of the log; 0 if unknown
  double speedup_low = 0;       // its 95 % interval; 0 if unknown
  double speedup_high = 0;
  double max_diff = 0;    // of all outputs
  std::string reason;     // of a failure, or which wrong answers pass
  bool is_blind = false;  // a wrong answer would have been right at t = -5
  std::optional<SampleRounding> rounding;

  // True if all numbers are right at tolerance t.
  bool IsCorrect(int t) const { return (correct_levels >> (t - kMinToleranceLevel) & 1) != 0; }
  // Returns At, but kBlind for a sample that is correct at t and blind.
  Outcome Shown(int t) const {
    const Outcome outcome = At(t);
    return outcome == Outcome::kCorrect && is_blind ? Outcome::kBlind : outcome;
  }
  // Returns kCorrect if the sample is correct at t, otherwise how it failed.
  Outcome At(int t) const {
    if (IsCorrect(t)) return Outcome::kCorrect;
    return status == Outcome::kCorrect ? Outcome::kAccuracy : status;
  }
};

// A whole log.
struct Log {
  std::string name;  // of the file, without its extension
  std::string file;
  std::vector<LoggedSample> samples;  // never empty; each path once
  std::string clock{kEndToEnd};       // whose speedups the samples have
  // The entries of [Config] that all samples share: the compiler, the device and the like; and
  // "measure", the clock, unless it is kEndToEnd.
  std::vector<std::pair<std::string, std::string>> config;
  std::vector<std::string> notes;  // oddities, one line for each kind
};

// How a log is read.
struct LogOptions {
  int jobs = 1;                  // threads
  std::string clock{kEndToEnd};  // whose speedups count, of the lines [Speedup][CLOCK]
};

// Parses a log. The error names the line if possible. It is an error if there is no sample, if a
// correct sample has no speedup by the clock, or if the log ends in the middle of a line.
absl::StatusOr<Log> ParseLog(absl::string_view bytes, const std::string& file,
                             const LogOptions& options = {});
// Like ParseLog, for a file; "-" is the standard input.
absl::StatusOr<Log> ReadLog(const std::string& file, const LogOptions& options);

// Returns the logs that a path stands for: a file itself, or the files of a folder whose names end
// in .log or .txt, sorted. InvalidArgument if the folder has none.
absl::StatusOr<std::vector<std::string>> FindLogs(const std::string& path);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_LOG_H_

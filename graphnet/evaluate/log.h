// A benchmark log as a whole: of each sample what scores are made of.
#ifndef GRAPHNET_EVALUATE_LOG_H_
#define GRAPHNET_EVALUATE_LOG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/evaluate/sample_result.h"

namespace graphnet {

inline constexpr size_t kMaxLogBytes = size_t{4} << 30;
inline constexpr size_t kMaxLogSamples = 10'000'000;

struct LoggedSample {
  std::string path;
  size_t line = 0;  // of its [Processing]
  Outcome status = Outcome::kCorrect;
  uint16_t correct_levels = 0;  // SampleResult::CorrectLevels
  double speedup = 0;           // end to end; 0 if there is none
  double max_diff = 0;          // of all outputs
  std::string reason;           // of a failure

  bool IsCorrect(int t) const { return (correct_levels >> (t - kMinToleranceLevel) & 1) != 0; }
  // kCorrect, or why not.
  Outcome At(int t) const {
    if (IsCorrect(t)) return Outcome::kCorrect;
    return status == Outcome::kCorrect ? Outcome::kAccuracy : status;
  }
};

struct Log {
  std::string name;  // of the file, without its ending
  std::string file;
  std::vector<LoggedSample> samples;  // never empty; each path once
  // What all samples say of the compiler, the device and the like.
  std::vector<std::pair<std::string, std::string>> config;
  std::vector<std::string> notes;  // what is odd, a line a kind
};

// An error, which names the line where it can, if there is no sample, one that is correct lacks
// a speedup, or the log ends in the middle of a line.
absl::StatusOr<Log> ParseLog(absl::string_view bytes, const std::string& file, int jobs = 1);
// "-" is the standard input.
absl::StatusOr<Log> ReadLog(const std::string& file, int jobs);

// The logs that a path stands for: itself, or of a folder all that end in .log or .txt, sorted.
absl::StatusOr<std::vector<std::string>> FindLogs(const std::string& path);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_LOG_H_

// Reads benchmark logs: ours and those of GraphNet's tools, also of older versions. Other output
// may stand between the lines, and the lines of a sample may have any order.
//
//   RETURN_IF_ERROR(ReadLogLines(bytes, {}, &warnings, [&](size_t line, SampleResult& sample) {
//     …
//   }));
//
// A sample begins with "[Processing] PATH". If our line "[Status] …" is missing, its status is
// derived as GraphNet does it, by the first of these that holds:
//  - eager_fail: no dtypes of the eager side;
//  - compile_fail: no dtypes of the compiled side;
//  - shape_mismatch: nothing shows that shapes match;
//  - type_mismatch: no "[DataType] … match:True";
//  - runtime_fail: any line with "Error:" or "Exception:".
#ifndef GRAPHNET_EVALUATE_LOG_READER_H_
#define GRAPHNET_EVALUATE_LOG_READER_H_

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/evaluate/sample_result.h"

namespace graphnet {

// Oddities of a log that do not keep it from being read.
enum class LogOddity {
  kUnequalOutputs,  // not one value for each output: counts as wrong at every t
  kNoOutputs,       // nothing to compare: counts as wrong at every t
  kBadValue,        // a line whose value cannot be parsed: ignored
  kRepeatedSample,  // a path occurs again: the last sample counts
};
inline constexpr int kNumLogOddities = 4;

// The oddities that were met, counted.
struct LogWarnings {
  // The number of oddities of one kind, and the line of the first one.
  struct Count {
    size_t count = 0;
    size_t first_line = 0;  // from 1
  };
  std::array<Count, kNumLogOddities> counts;

  // Counts an oddity at a line.
  void Add(LogOddity oddity, size_t line);
  // Adds the counts of a later part of the log.
  void Merge(const LogWarnings& later);
  // Returns one message for each kind that was met: "bench.log:12: a line … (3 times)".
  std::vector<std::string> Messages(absl::string_view file) const;
};

// Options for reading a log or a part of one.
struct LogReadOptions {
  std::string file;       // its name in errors
  size_t first_line = 1;  // number of the first line of `bytes`
  bool times = true;      // read the times, which are JSON, too
};

// Calls `take` for each sample in `bytes`, with the line of its [Processing]. The result belongs to
// the reader and is valid only during the call. Returns the error of `take`, or an error that names
// the line in the middle of which the log ends.
absl::Status ReadLogLines(absl::string_view bytes, const LogReadOptions& options,
                          LogWarnings* warnings,
                          absl::FunctionRef<absl::Status(size_t line, const SampleResult&)> take);

// Divides `bytes` at the beginnings of samples into at most `parts` parts of about the same size.
// Returns where the parts begin; the first is 0.
std::vector<size_t> DivideLog(absl::string_view bytes, size_t parts);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_LOG_READER_H_

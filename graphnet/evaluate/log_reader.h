// Reads benchmark logs: ours, those of GraphNet's tools and of older versions of them, between
// other output, their lines in any order.
//
//   RETURN_IF_ERROR(ReadLogLines(bytes, {}, &warnings, [&](size_t line, SampleResult& sample) {
//     …
//   }));
//
// A sample begins with "[Processing] PATH". Where it has no line "[Status] …" of ours, its status
// is concluded as GraphNet does: no dtypes of the eager side, eager_fail; none of the compiled
// side, compile_fail; nothing that shows that shapes match, shape_mismatch; no
// "[DataType] … match:True", type_mismatch; any line with "Error:" or "Exception:", runtime_fail.
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

// What is odd about a log but does not keep it from being read.
enum class LogOddity {
  kUnequalOutputs,  // as many values as outputs are expected: counts as wrong at every t
  kNoOutputs,       // nothing to compare: ditto
  kBadValue,        // a line whose value is none: as if it were not there
  kRepeatedSample,  // the last of a path counts
};
inline constexpr int kNumLogOddities = 4;

struct LogWarnings {
  struct Count {
    size_t count = 0;
    size_t first_line = 0;  // from 1
  };
  std::array<Count, kNumLogOddities> counts;

  void Add(LogOddity oddity, size_t line);
  void Merge(const LogWarnings& later);
  // "bench.log:12: 3 samples …", one for each kind that there is.
  std::vector<std::string> Messages(absl::string_view file) const;
};

struct LogReadOptions {
  std::string file;       // as errors name it
  size_t first_line = 1;  // the number of the first
  bool times = true;      // whether to read them, too: they are JSON
};

// Calls `take` for each sample in `bytes`, with the line of its [Processing]; what it is given
// is the reader's, and lives until it returns. An error is what `take` returns, or names the line
// that the log ends in the middle of.
absl::Status ReadLogLines(absl::string_view bytes, const LogReadOptions& options,
                          LogWarnings* warnings,
                          absl::FunctionRef<absl::Status(size_t line, const SampleResult&)> take);

// Where samples begin that divide `bytes` into at most `parts` of about the same size: the
// first is 0.
std::vector<size_t> DivideLog(absl::string_view bytes, size_t parts);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_LOG_READER_H_

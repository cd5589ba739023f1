// Writes the log of a benchmark: for each sample the lines that GraphNet's test_compiler prints, so
// that all readers of its logs accept ours, and a line with its outcome (docs/evaluation_reference.md).
#ifndef GRAPHNET_EVALUATE_LOG_WRITER_H_
#define GRAPHNET_EVALUATE_LOG_WRITER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "graphnet/evaluate/sample_result.h"

namespace graphnet {

// The prompt with which each line begins.
inline constexpr absl::string_view kLogPrompt = "graph-net-test-compiler-log";

// Returns the lines of one sample. Names that would end a line are escaped. Times are rounded to
// six significant digits and speedups to five decimals, as everywhere in these logs.
std::string WriteLog(const SampleResult& result, absl::string_view prompt = kLogPrompt);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_LOG_WRITER_H_

// Writes the log of a benchmark: of each sample the lines that GraphNet's test_compiler prints,
// so that all who read its logs take ours, and one that says how the sample ended (docs/evaluation.md).
#ifndef GRAPHNET_EVALUATE_LOG_WRITER_H_
#define GRAPHNET_EVALUATE_LOG_WRITER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "graphnet/evaluate/sample_result.h"

namespace graphnet {

// What each line begins with.
inline constexpr absl::string_view kLogPrompt = "graph-net-test-compiler-log";

// The lines of one sample. Names that would end a line are escaped; times are rounded to six
// digits and speedups to five decimals, as everywhere in these logs.
std::string WriteLog(const SampleResult& result, absl::string_view prompt = kLogPrompt);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_LOG_WRITER_H_

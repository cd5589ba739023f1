// decompose --typical: the sequences of operators that recur over the samples, and where to cut them out.
#ifndef GRAPHNET_DECOMPOSE_COMMANDS_TYPICAL_RANGES_H_
#define GRAPHNET_DECOMPOSE_COMMANDS_TYPICAL_RANGES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/base/report.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/inputs.h"
#include "graphnet/corpus/typical.h"
#include "graphnet/decompose/ranges_file.h"

namespace graphnet {

struct TypicalResult {
  Report report;           // a table of the sequences, and how many there are
  RangesOfSamples ranges;  // by name; without samples that cannot be read
  BatchCount count;
};

// Reads all samples, on `jobs` threads, and searches. Samples that cannot be read are told. The errors
// are those of TypicalSequences.
absl::StatusOr<TypicalResult> FindTypicalRanges(const std::vector<NamedInput>& inputs,
                                                const TypicalOptions& options, int jobs,
                                                bool trust);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_COMMANDS_TYPICAL_RANGES_H_

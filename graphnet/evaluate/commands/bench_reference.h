// What `graphnet bench --record` and `--against` do besides running the benchmark.
#ifndef GRAPHNET_EVALUATE_COMMANDS_BENCH_REFERENCE_H_
#define GRAPHNET_EVALUATE_COMMANDS_BENCH_REFERENCE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/base/report.h"
#include "graphnet/command/command_line.h"
#include "graphnet/evaluate/bench.h"
#include "graphnet/evaluate/log.h"
#include "graphnet/evaluate/reference.h"

namespace graphnet {

// The options whose values a benchmark takes from its reference unless they are given.
struct ReferenceOptions {
  Option device, warmup, trials, seed, threads;
};

// Runs `bench`, which runs the benchmark with `run->record`, and writes the reference: whole, or not at
// all if `bench` or a file fails. AlreadyExists if something is there.
absl::Status Record(const std::string& folder, BenchRun* run,
                    const std::function<absl::Status()>& bench);

// Sets the settings that are not given to those of the reference. InvalidArgument if another seed is
// given, as the inputs would be others.
absl::Status TakeSettings(const Reference& reference, const ReferenceOptions& options,
                          BenchSettings* settings);

// Says how this machine differs from that of the reference: the processor, versions, threads.
void SayDifferences(const BenchRun& run, Report* report);

// Takes the samples without outputs in the reference out of `run`, and says so in `report`.
// InvalidArgument if none is left.
absl::Status SkipUnknown(BenchRun* run, Report* report);

// Returns the log of each backend: the recorded one, with the paths that the samples have now. For a
// backend that was not recorded, it is that of the eager side, which is right and 1 times as fast.
absl::StatusOr<std::vector<Log>> RecordedLogs(const BenchRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_COMMANDS_BENCH_REFERENCE_H_

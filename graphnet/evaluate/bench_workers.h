// The workers of one thread of a benchmark: one of each backend and one of the eager side.
#ifndef GRAPHNET_EVALUATE_BENCH_WORKERS_H_
#define GRAPHNET_EVALUATE_BENCH_WORKERS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/evaluate/ab_run.h"
#include "graphnet/evaluate/backend_process.h"
#include "graphnet/evaluate/backend_table.h"
#include "graphnet/evaluate/bench.h"
#include "graphnet/evaluate/bench_oracle.h"
#include "graphnet/evaluate/bench_rounding.h"
#include "graphnet/evaluate/bench_sample.h"
#include "graphnet/evaluate/oracle.h"
#include "graphnet/evaluate/reference.h"
#include "graphnet/evaluate/sample_result.h"

namespace graphnet {

// Returns the backends that the settings name. InvalidArgument if one is unknown or named twice.
absl::StatusOr<std::vector<Backend>> BackendsOf(const BenchSettings& settings);

// Runs samples with all backends, one after the other. Not thread-safe.
class BenchWorkers {
 public:
  // The workers run below `folder`. `run` and `backends` must outlive this. `threads` is the number
  // of threads that share the machine's memory.
  BenchWorkers(const BenchRun& run, const std::vector<Backend>& backends, std::string folder,
               int threads = 1);

  // Starts all workers. The error names the backend that does not start.
  absl::Status Start();
  // Runs a sample with each backend i for which wanted[i] is true, and calls `take` with each
  // result. Errors are those of `take`, and ResourceExhausted if the disk is full.
  absl::Status Run(const std::string& path, const std::vector<bool>& wanted,
                   absl::FunctionRef<absl::Status(size_t i, const BenchOutcome&)> take);

 private:
  absl::StatusOr<std::unique_ptr<BenchSample>> Load(const std::string& path,
                                                    const std::string& folder,
                                                    bool scale_weights) const;
  // Takes the reference of a sample in place of the eager side.
  absl::Status Recall(const ReferenceSample* known, const BenchSample& sample,
                      EagerSide* eager) const;
  SampleResult ResultOf(const AbRun& ab_run, const BackendProcess& process) const;

  const BenchRun& run_;
  const std::string folder_;
  const std::string hardware_;
  const Backend nope_;
  std::unique_ptr<BackendProcess> eager_;
  std::vector<std::unique_ptr<BackendProcess>> processes_;
  std::unique_ptr<BenchOracle> oracle_;  // null unless BenchSettings::oracle is set
  // Null unless BenchSettings::derives_tolerance is set.
  std::unique_ptr<BenchRounding> rounding_;
};

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_BENCH_WORKERS_H_

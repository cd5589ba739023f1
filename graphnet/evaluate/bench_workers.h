// What a thread of a benchmark has: a worker of each backend and one of the eager side.
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
#include "graphnet/evaluate/bench_sample.h"
#include "graphnet/evaluate/oracle.h"
#include "graphnet/evaluate/sample_result.h"

namespace graphnet {

// InvalidArgument, with a name that may be meant, if there is none of that name.
absl::StatusOr<const Backend*> BackendOfName(absl::string_view name);
// The backends that the settings name. InvalidArgument like BackendOfName, or if one comes twice.
absl::StatusOr<std::vector<Backend>> BackendsOf(const BenchSettings& settings);

class BenchWorkers {
 public:
  // They run below `folder`. What is given must outlive them. So many threads share the memory of
  // the machine.
  BenchWorkers(const BenchRun& run, const std::vector<Backend>& backends, std::string folder,
               int threads = 1);

  // Whether all start.
  absl::Status Start();
  // Calls `take` with what comes of a sample with each backend i for which `wanted` is true.
  absl::Status Run(const std::string& path, const std::vector<bool>& wanted,
                   absl::FunctionRef<absl::Status(size_t i, const BenchOutcome&)> take);

 private:
  absl::StatusOr<std::unique_ptr<BenchSample>> Load(const std::string& path,
                                                    const std::string& folder) const;
  SampleResult ResultOf(const AbRun& ab_run, const BackendProcess& process) const;

  const BenchRun& run_;
  const std::string folder_;
  const std::string hardware_;
  const Backend nope_;
  std::unique_ptr<BackendProcess> eager_;
  std::vector<std::unique_ptr<BackendProcess>> processes_;
  std::unique_ptr<BenchOracle> oracle_;  // null: nobody asks it
};

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_BENCH_WORKERS_H_

// Says for a sample of a benchmark whether rounding explains how a backend's outputs differ from those
// that are expected (interp/rounding.h).
#ifndef GRAPHNET_EVALUATE_BENCH_ROUNDING_H_
#define GRAPHNET_EVALUATE_BENCH_ROUNDING_H_

#include <string>

#include "absl/status/statusor.h"
#include "graphnet/evaluate/ab_run.h"
#include "graphnet/evaluate/backend_process.h"
#include "graphnet/evaluate/bench.h"
#include "graphnet/evaluate/bench_sample.h"
#include "graphnet/evaluate/compare_outputs.h"
#include "graphnet/evaluate/sample_result.h"

namespace graphnet {

// Runs samples with random rounding, and in float64. Not thread-safe.
class BenchRounding {
 public:
  // `nope` runs the samples, in a worker of its own below `folder` on this machine, whichever one the
  // benchmark runs on. `run` and `nope` must outlive this.
  BenchRounding(const BenchRun& run, const Backend* nope, const WorkerHost& host,
                const WorkerLimits& limits, const std::string& folder);

  // Judges the outputs of a backend that were compared with `expected`. If the verdict is not known, its
  // text says why.
  SampleRounding Judge(BenchSample& sample, const Outputs& expected, const AbRun& ab_run);

 private:
  absl::StatusOr<SampleRounding> Measure(BenchSample& sample, const Outputs& expected,
                                         const std::string& compared);

  const BenchRun& run_;
  BackendProcess process_;
};

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_BENCH_ROUNDING_H_

// The oracle of a benchmark. For a sample on which a backend and eager differ, it finds which side
// is wrong, at which node first, and a small sample that shows it.
#ifndef GRAPHNET_EVALUATE_BENCH_ORACLE_H_
#define GRAPHNET_EVALUATE_BENCH_ORACLE_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "graphnet/evaluate/backend_process.h"
#include "graphnet/evaluate/bench.h"
#include "graphnet/evaluate/oracle.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Judges samples by running them in float64. Not thread-safe.
class BenchOracle {
 public:
  // `nope` computes the outputs of eager and of float64, in a worker of its own below `folder`.
  // `run` and `nope` must outlive this.
  BenchOracle(const BenchRun& run, const Backend* nope, const WorkerHost& host,
              const WorkerLimits& limits, const std::string& folder);

  // Judges the sample at `path`, with `scale_weights` as BenchSampleOptions has it. Takes at most
  // BenchRun::oracle_s seconds and one comparison beyond. OracleFinding::why_not says what could
  // not be found out.
  OracleFinding Find(const std::string& path, bool scale_weights, BackendProcess* backend);

 private:
  absl::StatusOr<OracleVerdict> Judge(const std::string& path, bool scale_weights,
                                      BackendProcess* backend);
  absl::StatusOr<OracleVerdict> JudgeSample(const Sample& sample, BackendProcess* backend);
  absl::Status FindMore(const std::string& path, Sample sample, BackendProcess* backend,
                        OracleFinding* finding);
  absl::StatusOr<Sample> ShortestPart(const Sample& sample, Wrong wrong, BackendProcess* backend,
                                      absl::Time deadline, OracleFinding* finding);
  absl::StatusOr<Outputs> OutputsOf(BackendProcess* side,
                                    const absl::StatusOr<PrepareRequest>& request);

  const BenchRun& run_;
  const std::string folder_;
  BackendProcess eager_;
};

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_BENCH_ORACLE_H_

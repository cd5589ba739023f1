// A benchmark: samples, each by several backends, its results in a folder from which it goes on
// when it was stopped.
#ifndef GRAPHNET_EVALUATE_BENCH_H_
#define GRAPHNET_EVALUATE_BENCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/evaluate/ab_run.h"
#include "graphnet/evaluate/backend_table.h"
#include "graphnet/evaluate/environment.h"
#include "graphnet/evaluate/oracle.h"
#include "graphnet/evaluate/reduce.h"
#include "graphnet/evaluate/result_log.h"
#include "graphnet/evaluate/sample_result.h"

namespace graphnet {

// What the results depend on; a benchmark that goes on must have the same.
struct BenchSettings {
  std::vector<std::string> in;
  std::vector<std::string> backends;
  std::string device = "cpu";
  int warmup = 3;
  int trials = 5;
  uint64_t seed = 0;
  bool fresh_inputs = false;
  bool oracle = false;  // of samples that differ, who is wrong (bench_oracle.h)
  std::string exec;     // the command of backend exec
  ProgramForm exec_reads = ProgramForm::kPt2;
};

// The result of a sample with a backend.
struct BenchOutcome {
  SampleResult result;
  AbRun ab_run;
  std::optional<OracleFinding> oracle;  // if it was asked
};

// The functions that are called while a benchmark runs, one at a time. Each may be null.
struct BenchListener {
  std::function<void(size_t num_samples)> on_begin;
  std::function<void(const std::string& path, const Backend& backend, const BenchOutcome& outcome)>
      on_outcome;
  // `wrong` counts the samples on which a backend failed.
  std::function<void(size_t done, size_t wrong)> on_step;
  std::function<void(const std::string& note)> on_note;
};

struct BenchRun {
  BenchSettings settings;
  WorkerHost host;         // which program and which LibTorch the workers are
  SampleObserver observe;  // for the oracle, which makes samples small
  BenchListener listener;
  std::string folder;      // of results
  double timeout_s = 600;  // of each request to a worker
  double oracle_s = 60;    // for each sample and backend that differ
  int64_t memory_mib = 0;  // of a worker; 0: what the machine has free
  int jobs = 1;
  bool trust = false;
};

// Makes the folder, which must be new or empty.
absl::Status BeginBench(const std::string& folder, const BenchSettings& settings);
// The settings that the benchmark in this folder was begun with. NotFound if there is none.
absl::StatusOr<BenchSettings> SettingsOf(const std::string& folder);
// What differs, as an error.
absl::Status CheckSame(const BenchSettings& begun, const BenchSettings& now);

struct BackendResults {
  std::string backend;
  std::string log;
  std::map<std::string, ResultSummary> samples;  // by path, all that the folder has
};

struct BenchResults {
  std::vector<BackendResults> backends;
  std::vector<absl::Status> unusable;  // of inputs that are no samples
};

// Runs what is not done yet. InvalidArgument or FailedPrecondition before the first sample if a
// backend cannot be used; ResourceExhausted if there is no room for files, which is no result.
absl::StatusOr<BenchResults> RunBench(const BenchRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_BENCH_H_

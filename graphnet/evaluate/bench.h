// Runs a benchmark: several backends on each sample. Its results are kept in a folder, from which
// it can be resumed after it was stopped.
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
#include "graphnet/evaluate/reference.h"
#include "graphnet/evaluate/result_log.h"
#include "graphnet/evaluate/sample_result.h"

namespace graphnet {

// The settings that the results depend on. A benchmark can be resumed only with the same ones.
struct BenchSettings {
  std::vector<std::string> in;
  std::string list;  // a file of paths below `in`; empty if there is none
  std::vector<std::string> backends;
  std::string device = "cpu";
  int warmup = 3;
  int trials = 5;
  uint64_t seed = 0;
  bool fresh_inputs = false;
  int threads = 0;      // of an operator; 0: as each side chooses
  bool oracle = false;  // ask which side is wrong where they differ (bench_oracle.h)
  bool derives_tolerance =
      false;         // ask whether rounding explains how they differ (bench_rounding.h)
  std::string exec;  // command of backend exec
  ProgramForm exec_reads = ProgramForm::kPt2;
  std::string on;       // WorkerHost::on
  std::string against;  // the folder of a reference; empty if the eager side runs
};

// The result of one sample with one backend.
struct BenchOutcome {
  SampleResult result;
  AbRun ab_run;
  std::optional<OracleFinding> oracle;  // if the oracle was asked
};

// Functions that are called while a benchmark runs, one at a time. Each may be null.
struct BenchListener {
  std::function<void(size_t num_samples)> on_begin;
  std::function<void(const std::string& path, const Backend& backend, const BenchOutcome& outcome)>
      on_outcome;
  // `wrong` counts the samples on which a backend failed.
  std::function<void(size_t done, size_t wrong)> on_step;
  std::function<void(const std::string& note)> on_note;
};

// A benchmark to run: its settings, and everything that its results do not depend on.
struct BenchRun {
  BenchSettings settings;
  std::vector<std::string> samples;  // what settings.in and settings.list name
  WorkerHost host;                   // the program and the LibTorch of the workers
  SampleObserver observe;            // for the oracle, which reduces samples
  BenchListener listener;
  std::string folder;  // for the results
  // The names of samples by their paths, for references.
  std::map<std::string, std::string> names;
  ReferenceWriter* record = nullptr;   // takes what the eager side does
  const Reference* against = nullptr;  // takes the place of the eager side
  double timeout_s = 600;              // limit of each request to a worker
  double oracle_s = 60;                // the oracle's time for each sample and backend that differ
  int64_t memory_mib = 0;              // limit of a worker; 0: a share of what the machine has free
  int jobs = 1;
  bool trust = false;

  // Returns the name of a sample; empty if it has none.
  std::string NameOf(const std::string& path) const {
    const auto it = names.find(path);
    return it != names.end() ? it->second : "";
  }
};

// Creates the folder of a benchmark and stores its settings. InvalidArgument if they name an
// unknown backend or device, AlreadyExists if the folder is not empty.
absl::Status BeginBench(const std::string& folder, const BenchSettings& settings);
// Returns the settings with which the benchmark in this folder was begun. NotFound if there is
// none, InvalidArgument if they cannot be read.
absl::StatusOr<BenchSettings> SettingsOf(const std::string& folder);
// Returns InvalidArgument with the first setting that differs; OK if none does.
absl::Status CheckSame(const BenchSettings& begun, const BenchSettings& now);

// The results of one backend.
struct BackendResults {
  std::string backend;
  std::string log;
  std::map<std::string, ResultSummary> samples;  // by path: all that the folder holds
};

// The results of a benchmark, from this run and from earlier ones.
struct BenchResults {
  std::vector<BackendResults> backends;
  std::vector<absl::Status> unusable;  // an error for each input that is not a sample
};

// Runs each sample with each backend that has no result for it yet. InvalidArgument or
// FailedPrecondition before the first sample if a backend cannot be used; ResourceExhausted if the
// disk is full, which does not count as a result.
absl::StatusOr<BenchResults> RunBench(const BenchRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_BENCH_H_

// Runs a sample on two sides, as it is and compiled, with the same inputs, to find out whether the
// compiled one is right and how much faster it is.
#ifndef GRAPHNET_EVALUATE_AB_RUN_H_
#define GRAPHNET_EVALUATE_AB_RUN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/evaluate/backend_process.h"
#include "graphnet/evaluate/compare_outputs.h"
#include "graphnet/evaluate/sample_result.h"
#include "graphnet/evaluate/trials.h"
#include "graphnet/evaluate/worker.h"

namespace graphnet {

// The number of runs of each side, and the seed of random operators.
struct AbOptions {
  int warmup = 3;
  int trials = 5;
  uint64_t seed = 0;
};

// The files of tensors that both sides run on. Outputs are compared on the first. If there are
// more, trials are timed on those in turn, and their outputs are compared, too.
struct AbInputs {
  std::vector<std::string> files;
  // Writes the files again after a worker has changed one.
  std::function<absl::Status()> restore;
};

// The result of comparing one backend with the eager side.
struct AbRun {
  Outcome status = Outcome::kCorrect;
  std::string reason;
  bool is_loaded = true;  // false: the sample could not be read, so neither side ran
  std::vector<std::string> compiled_dtypes;
  std::vector<OutputComparison> outputs;
  // The file of the outputs that were compared on the first inputs; empty if there are none, or if
  // those on other inputs are worse.
  std::string compared;
  std::string proof;
  double prepare_ms = 0;
  PairedTrials trials;  // by the wall clock
  SpeedupEstimate speedup;
  bool fluctuates = false;  // in each of three timings
  // The same trials by the other clocks of either side: "gpu", "kernel".
  ByMeasure<PairedTrials> device_trials;
};

// The times of the eager side by the clocks, in blocks as PairedTrials::eager has them.
using EagerTimes = ByMeasure<std::vector<std::vector<double>>>;

// The eager side, which all others are compared with, ready to run one sample.
class EagerSide {
 public:
  EagerSide(BackendProcess* process, AbInputs inputs, const AbOptions& options)
      : process_(process), inputs_(std::move(inputs)), options_(options) {}

  // Prepares the program and runs it on the first inputs. Returns an error if it does not run.
  absl::Status Prepare(const PrepareRequest& request);
  const Outputs& outputs() const { return outputs_; }
  // Takes outputs and times that were recorded instead of running anything.
  void Recall(Outputs outputs, EagerTimes times);

  // True if the worker is alive and has the program, or if none is needed. If not, Prepare must be
  // called again.
  bool is_ready() const { return recalled_.has_value() || process_->is_running(); }
  void Stop() { process_->Stop(); }
  // Runs the sample with `compiled`, judges its outputs and times both sides. Never fails: an error
  // becomes the status and reason of the result.
  AbRun Compare(BackendProcess* compiled, const PrepareRequest& request);

 private:
  std::string OutputsFile() const;
  absl::StatusOr<Outputs> OutputsOn(const std::string& file);
  absl::StatusOr<WorkerTimes> TimeEager(const std::string& inputs, int warmup, int trials);
  void Run(BackendProcess* compiled, const PrepareRequest& request, AbRun* ab_run);
  absl::Status MeasureBlocks(Worker& compiled, const std::string& outputs,
                             ByMeasure<PairedTrials>* trials, AbRun* ab_run);

  BackendProcess* process_;
  AbInputs inputs_;
  AbOptions options_;
  Outputs outputs_;
  std::optional<EagerTimes> recalled_;
};

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_AB_RUN_H_

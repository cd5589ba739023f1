// A sample run by two sides, as it is and compiled, on the same inputs: whether the compiled one is
// right, and how much faster it is.
#ifndef GRAPHNET_EVALUATE_AB_RUN_H_
#define GRAPHNET_EVALUATE_AB_RUN_H_

#include <cstdint>
#include <functional>
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

struct AbOptions {
  int warmup = 3;
  int trials = 5;
  uint64_t seed = 0;
};

// What both sides are run on: files of tensors. Outputs are compared on the first; if there are
// more, those are what trials are timed on, in turn, and their outputs are compared, too.
struct AbInputs {
  std::vector<std::string> files;
  // Writes them again: for one that a worker has changed.
  std::function<absl::Status()> restore;
};

struct AbRun {
  Outcome status = Outcome::kCorrect;
  std::string reason;
  bool is_loaded = true;  // false: the sample could not be read, and nobody ran it
  std::vector<std::string> compiled_dtypes;
  std::vector<OutputComparison> outputs;
  std::string proof;
  double prepare_ms = 0;
  PairedTrials trials;
  SpeedupEstimate speedup;
  bool fluctuates = false;  // in all of three tries
};

// The side that all others are compared with, ready to run one sample.
class EagerSide {
 public:
  EagerSide(BackendProcess* process, AbInputs inputs, const AbOptions& options)
      : process_(process), inputs_(std::move(inputs)), options_(options) {}

  // Why it does not run, if it does not.
  absl::Status Prepare(const PrepareRequest& request);
  const Outputs& outputs() const { return outputs_; }

  // Whether its worker has the program; else it has to be prepared again.
  bool is_ready() const { return process_->is_running(); }
  void Stop() { process_->Stop(); }
  // Never fails: what goes wrong is how the ab_run ended.
  AbRun Compare(BackendProcess* compiled, const PrepareRequest& request);

 private:
  std::string OutputsFile() const;
  absl::StatusOr<Outputs> OutputsOn(const std::string& file);
  absl::StatusOr<std::vector<double>> TimeEager(const std::string& inputs, int warmup, int trials);
  void Run(BackendProcess* compiled, const PrepareRequest& request, AbRun* ab_run);
  absl::Status MeasureBlocks(Worker& compiled, const std::string& outputs, PairedTrials* trials,
                             AbRun* ab_run);

  BackendProcess* process_;
  AbInputs inputs_;
  AbOptions options_;
  Outputs outputs_;
};

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_AB_RUN_H_

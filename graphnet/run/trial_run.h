// Runs a sample on drawn inputs to see whether it works: at several sizes, with the same weights.
#ifndef GRAPHNET_RUN_TRIAL_RUN_H_
#define GRAPHNET_RUN_TRIAL_RUN_H_

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "graphnet/ir/sample.h"
#include "graphnet/run/engine.h"

namespace graphnet {

// What a run may take. What would take more is not run.
struct TrialLimits {
  int64_t max_bytes = std::numeric_limits<int64_t>::max();  // of memory
  double max_flops = std::numeric_limits<double>::infinity();
};

// Runs one sample several times; between the runs its sizes may change.
//
//   TrialRun trial(engine, &sample);
//   RETURN_IF_ERROR(trial.Run({}));
class TrialRun {
 public:
  // Both must outlive the object.
  TrialRun(const Engine& engine, Sample* sample) : engine_(engine), sample_(*sample) {}

  // Runs the sample with its present sizes; what it weighs is judged by the metas of its calls. The
  // weights are drawn once. OutOfRange if an output is not finite, and names it; ResourceExhausted
  // beyond the limits; otherwise the error of the run.
  absl::Status Run(const TrialLimits& limits);

 private:
  const Engine& engine_;
  Sample& sample_;
  TensorValues drawn_;
};

}  // namespace graphnet

#endif  // GRAPHNET_RUN_TRIAL_RUN_H_

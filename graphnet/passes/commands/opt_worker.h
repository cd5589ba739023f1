// `graphnet opt` in processes of their own, each under limits: a pass that crashes, hangs or takes too
// much memory, such as that of a plug-in, ends its process and not the batch.
#ifndef GRAPHNET_PASSES_COMMANDS_OPT_WORKER_H_
#define GRAPHNET_PASSES_COMMANDS_OPT_WORKER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "graphnet/command/save.h"
#include "graphnet/evaluate/scratch_folder.h"
#include "graphnet/evaluate/worker_process.h"
#include "graphnet/formats/losses.h"
#include "graphnet/passes/pipeline.h"

namespace graphnet {

// What the passes have done with a sample.
struct OptOutcome {
  std::vector<StepResult> steps;
  Losses lost;
  bool was_there = false;  // The passes did not run.
  std::string aside = "";  // lines for the standard error
};

// Processes of the tool that serve requests. Thread-safe: each request gets a process of its own, which
// serves others later.
class OptWorkers {
 public:
  // `words` are the command of a process and `environment` what is added to its environment,
  // `max_memory` the bytes of each process (0: no limit), and `time` that of each sample.
  OptWorkers(std::vector<std::string> words,
             std::vector<std::pair<std::string, std::string>> environment, int64_t max_memory,
             absl::Duration time);

  // Runs the passes on the sample at `path`. Beside the errors of the passes, those of WorkerProcess.
  absl::StatusOr<OptOutcome> Run(const std::string& path, const Output& out);

 private:
  absl::StatusOr<std::unique_ptr<WorkerProcess>> Start();

  const std::vector<std::string> words_;
  const std::vector<std::pair<std::string, std::string>> environment_;
  const int64_t max_memory_;
  const absl::Duration time_;
  std::mutex mutex_;
  std::unique_ptr<ScratchFolder> scratch_;
  size_t started_ = 0;
  std::vector<std::unique_ptr<WorkerProcess>> free_;
};

// Serves the requests of OptWorkers until there are no more.
absl::Status ServeOpt(const std::function<absl::StatusOr<OptOutcome>(const std::string& path,
                                                                     const Output& out)>& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_COMMANDS_OPT_WORKER_H_

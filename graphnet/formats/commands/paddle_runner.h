// Runs samples of Paddle in a Python process with limits.
#ifndef GRAPHNET_FORMATS_COMMANDS_PADDLE_RUNNER_H_
#define GRAPHNET_FORMATS_COMMANDS_PADDLE_RUNNER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "graphnet/evaluate/scratch_folder.h"
#include "graphnet/evaluate/worker.h"

namespace graphnet {

class PaddleRunner {
 public:
  // Starts the Python in `environment`, a folder with bin/python or the path of a Python. `limit`
  // is the time for each sample. NotFound if there is no Python, FailedPrecondition if it has no
  // Paddle.
  static absl::StatusOr<std::unique_ptr<PaddleRunner>> Start(const std::string& environment,
                                                             absl::Duration limit);

  const std::string& version() const { return version_; }  // of Paddle
  // Runs a sample once, in a new process if the last one has ended. The errors are those of
  // worker.h: Paddle raised an exception, or the run exceeded the limits.
  absl::Status Run(const std::string& sample);

 private:
  PaddleRunner(std::string python, absl::Duration limit)
      : python_(std::move(python)), limit_(limit) {}
  absl::Status StartWorker();

  std::string python_;
  absl::Duration limit_;
  std::string version_;
  std::unique_ptr<ScratchFolder> folder_;
  std::unique_ptr<Worker> worker_;
};

// Returns the class of an error of Run(): "load", "run", "time limit", ….
absl::string_view PaddleErrorClass(const absl::Status& status);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_COMMANDS_PADDLE_RUNNER_H_

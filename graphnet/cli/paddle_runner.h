// Samples of Paddle are run in the Python of an environment, a process with limits.
#ifndef GRAPHNET_CLI_PADDLE_RUNNER_H_
#define GRAPHNET_CLI_PADDLE_RUNNER_H_

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
  // `environment` is a folder with bin/python, or a Python itself; `limit` is for each sample.
  // NotFound if it has none, FailedPrecondition if that has no Paddle.
  static absl::StatusOr<std::unique_ptr<PaddleRunner>> Start(const std::string& environment,
                                                             absl::Duration limit);

  const std::string& version() const { return version_; }  // of Paddle
  // Runs a sample once, in a process of its own if the last one is gone. Errors are those of
  // worker.h: what Paddle raised, or that it did not end within the limits.
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

// "load", "run", "time limit", …: what sort of error Run() yielded.
absl::string_view PaddleErrorClass(const absl::Status& status);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_PADDLE_RUNNER_H_

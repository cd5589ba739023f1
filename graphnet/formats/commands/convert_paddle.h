// convert --to paddle: converts samples of PyTorch to samples of Paddle, with a report and lists.
#ifndef GRAPHNET_FORMATS_COMMANDS_CONVERT_PADDLE_H_
#define GRAPHNET_FORMATS_COMMANDS_CONVERT_PADDLE_H_

#include <string>

#include "absl/status/statusor.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/result.h"
#include "graphnet/command/save.h"

namespace graphnet {

// The options of `convert` that count with --to paddle.
struct PaddleFlags {
  InputList samples;
  std::string report;  // file to write; empty: none
  bool trust = false;
  int jobs = 0;
  // Python environment with Paddle that runs the written samples; empty: they are not run.
  std::string paddle_python;
  double timeout_s = 300;  // time limit for running one sample
};

// Writes each converted sample to OUT/NAME, or to `out` itself if it is given one sample. A sample with
// calls that Paddle lacks fails and is not written. For several samples,
// torch_to_paddle_samples_list_full.txt in `out` lists the written ones, and
// torch_to_paddle_samples_list.txt those that Paddle ran. The exit code is 2 if any failed.
absl::StatusOr<CommandResult> ConvertToPaddle(const PaddleFlags& flags, const Output& out);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_COMMANDS_CONVERT_PADDLE_H_

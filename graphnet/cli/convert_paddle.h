// convert --to paddle: samples of PyTorch as samples of Paddle, with a report and lists.
#ifndef GRAPHNET_CLI_CONVERT_PADDLE_H_
#define GRAPHNET_CLI_CONVERT_PADDLE_H_

#include <string>

#include "absl/status/statusor.h"
#include "graphnet/cli/save.h"

namespace graphnet {

struct PaddleFlags {
  std::string in;
  std::string list;    // of paths below `in`; empty: all
  std::string report;  // where it goes; empty: nowhere
  bool trust = false;
  bool json = false;
  int jobs = 0;
  // A virtual environment with Paddle, which runs the samples that are written. Empty: nothing is run.
  std::string paddle_python;
  double timeout_s = 300;  // for each sample that it runs
};

// What is converted goes to the same path below `out`, or to `out` itself if `in` is one sample;
// what has calls that Paddle lacks is not written. Of a folder of samples, the paths of those
// written go to torch_to_paddle_samples_list_full.txt in `out`, and of those that Paddle ran to
// torch_to_paddle_samples_list.txt. 2 if any fails.
absl::StatusOr<int> ConvertToPaddle(const PaddleFlags& flags, const Output& out);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_CONVERT_PADDLE_H_

// --weights: a checkpoint whose values commands put into the programs that they load.
#ifndef GRAPHNET_COMMAND_WEIGHTS_H_
#define GRAPHNET_COMMAND_WEIGHTS_H_

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/base/report.h"
#include "graphnet/command/command_line.h"
#include "graphnet/command/result.h"
#include "graphnet/formats/checkpoint.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/put_weights.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Holds what the options say, and the checkpoint, which is read once for all samples.
struct WeightsOptions {
  std::string file;  // empty if there is none
  PutOptions put;
  std::mutex mutex;
  std::unique_ptr<absl::StatusOr<Checkpoint>> read;  // null before it is needed
};

// Adds --weights, --cast-weights and --partial. Returns the first. `options` must live until the
// command has run.
Option AddWeightsOptions(CommandLine& command, WeightsOptions* options);

// Describes the member of the report of a sample, for AddJsonOption.
inline constexpr char kWeightsMember[] =
    "with --weights, weights: file, num_put, num_cast, prefix_removed, prefix_added, missing, "
    "kept, "
    "unused, other_shape, other_dtype";

// Loads a sample, and puts the checkpoint into it if there is one. What happened is then "weights" in
// `report`, also if the checkpoint is refused. FailedPrecondition says why it is. Thread-safe.
absl::StatusOr<Sample> LoadWithWeights(const std::string& path, LoadOptions load,
                                       WeightsOptions& options, Report* report);

// Returns the result of a command for one sample into which the checkpoint was not put: the error, and
// what LoadWithWeights has reported. The exit code is 1.
CommandResult RefusedWeights(const std::string& path, const absl::Status& status, Report weights);

}  // namespace graphnet

#endif  // GRAPHNET_COMMAND_WEIGHTS_H_

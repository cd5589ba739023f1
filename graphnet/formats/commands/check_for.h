// check --for: finds the calls that compilers and formats lack for samples, without running them.
#ifndef GRAPHNET_FORMATS_COMMANDS_CHECK_FOR_H_
#define GRAPHNET_FORMATS_COMMANDS_CHECK_FOR_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/result.h"
#include "graphnet/ir/missing_calls.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Returns the formats that can refuse a sample, then the backends.
std::vector<absl::string_view> NamesOfTargets();
// Checks that there is a target of that name. InvalidArgument has a similar name and the list of
// all names.
absl::Status CheckTargetName(absl::string_view name);
// Returns the calls because of which `target`, one of NamesOfTargets, cannot write or compile the
// sample; empty if none is known.
MissingCalls MissingFor(absl::string_view target, const Sample& sample);

// The options of the command.
struct CheckForFlags {
  InputList inputs;
  std::vector<std::string> targets;
  int jobs = 0;
  bool trust = false;
};
// Returns the missing calls of many samples. The exit code is 1 if a call is missing, 2 if a sample
// cannot be read.
absl::StatusOr<CommandResult> CheckFor(const CheckForFlags& flags);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_COMMANDS_CHECK_FOR_H_

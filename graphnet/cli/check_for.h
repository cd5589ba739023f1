// check --for: what compilers and formats lack for samples, without running them.
#ifndef GRAPHNET_CLI_CHECK_FOR_H_
#define GRAPHNET_CLI_CHECK_FOR_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/missing_calls.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Formats that can refuse a sample, then backends.
std::vector<absl::string_view> NamesOfTargets();
// InvalidArgument, with a name that may be meant or all there are, if there is none of that name.
absl::Status CheckTargetName(absl::string_view name);
// The calls that keep the sample from being written as, or compiled by, one of NamesOfTargets; none
// if it works, as far as that is known.
MissingCalls MissingFor(absl::string_view target, const Sample& sample);

struct CheckForFlags {
  std::vector<std::string> in;
  std::vector<std::string> targets;
  int jobs = 0;
  bool json = false;
  bool trust = false;
};
// Reports it of many samples: 1 if something is missing, 2 if a sample cannot be read.
absl::StatusOr<int> CheckFor(const CheckForFlags& flags);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_CHECK_FOR_H_

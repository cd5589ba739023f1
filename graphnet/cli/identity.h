// The graphs that `hash` and `diff` compare.
#ifndef GRAPHNET_CLI_IDENTITY_H_
#define GRAPHNET_CLI_IDENTITY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

struct IdentityOptions {
  std::vector<std::string> inputs;  // --input
  bool normal_form = false;
  bool trust = false;
  bool weights = false;
};

// The sample at `path`, its graph in normal form if that is asked for. Inputs that are named and
// said to be None or a number ("mask=None", "n=int=3") are constants of it.
absl::StatusOr<Sample> LoadForIdentity(const std::string& path, const IdentityOptions& options);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_IDENTITY_H_

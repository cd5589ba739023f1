// Loads the graphs that `hash` and `diff` compare.
#ifndef GRAPHNET_IDENTITY_COMMANDS_IDENTITY_H_
#define GRAPHNET_IDENTITY_COMMANDS_IDENTITY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/evaluate/input_values.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

struct IdentityOptions {
  InputOptions inputs;
  bool normal_form = false;
  bool trust = false;
  bool weights = false;
};

// Loads the sample at `path`, with its graph in normal form if the options say so. In normal form,
// named inputs that are None or a number ("mask=None", "n=int=3") become constants.
absl::StatusOr<Sample> LoadForIdentity(const std::string& path, const IdentityOptions& options);

}  // namespace graphnet

#endif  // GRAPHNET_IDENTITY_COMMANDS_IDENTITY_H_

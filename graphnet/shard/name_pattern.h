// Patterns of names: * matches any text, ? matches one character.
#ifndef GRAPHNET_SHARD_NAME_PATTERN_H_
#define GRAPHNET_SHARD_NAME_PATTERN_H_

#include "absl/strings/string_view.h"

namespace graphnet::spmd {

bool IsPattern(absl::string_view name);
bool FitsPattern(absl::string_view pattern, absl::string_view name);

// Returns whether a pattern fits a module path, component by component. "layers.0-3" fits each path
// that has `layers` followed by a number from 0 to 3, such as "model.layers.2.mlp". A component of
// the pattern is a range of numbers or a pattern as above.
bool FitsModulePath(absl::string_view pattern, absl::string_view path);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_NAME_PATTERN_H_

// Finds the parameter names of a call's positional arguments.
#ifndef GRAPHNET_OPS_PARAMETER_NAMES_H_
#define GRAPHNET_OPS_PARAMETER_NAMES_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/ir/node.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

// A parameter that may be passed by position.
struct PositionalParameter {
  absl::string_view name;
  const SchemaArgument* argument;  // in the first overload that fits
};

// Returns the positional parameters in order, as far as all overloads that fit the call agree on
// the names. Empty if no table has the target.
std::vector<PositionalParameter> PositionalParameters(const Node& node, const Callable& callee);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_PARAMETER_NAMES_H_

// What the arguments that a call gives by position are called.
#ifndef GRAPHNET_OPS_PARAMETER_NAMES_H_
#define GRAPHNET_OPS_PARAMETER_NAMES_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/ir/node.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

struct PositionalParameter {
  absl::string_view name;
  const SchemaArgument* argument;  // of the first reading of the call
};

// By position, as far as all readings of the call agree on the names; empty for what no
// table has.
std::vector<PositionalParameter> PositionalParameters(const Node& node, const Callable& callee);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_PARAMETER_NAMES_H_

// Errors about a node.
#ifndef GRAPHNET_IR_NODE_ERROR_H_
#define GRAPHNET_IR_NODE_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/node.h"

namespace graphnet {

// Returns InvalidArgument "file:line:column: target (node name): what", with as much of the
// location as is known.
absl::Status NodeError(const Node& node, absl::string_view what);

}  // namespace graphnet

#endif  // GRAPHNET_IR_NODE_ERROR_H_

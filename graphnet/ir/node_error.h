// Errors about a node.
#ifndef GRAPHNET_IR_NODE_ERROR_H_
#define GRAPHNET_IR_NODE_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/node.h"

namespace graphnet {

// InvalidArgument "file:line:column: target (node name): what", as far as the
// location of the node is known.
absl::Status NodeError(const Node& node, absl::string_view what);

}  // namespace graphnet

#endif  // GRAPHNET_IR_NODE_ERROR_H_

// Putting a constant, or a structure of values, in the place of a node.
#ifndef GRAPHNET_PASSES_CONSTANTS_H_
#define GRAPHNET_PASSES_CONSTANTS_H_

#include "graphnet/ir/node.h"

namespace graphnet {

// Replaces every operand `node` by `value`, whose nodes come before all users of
// `node`. O(arguments of the users).
void ReplaceUsesWithValue(Node* node, const Argument& value);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_CONSTANTS_H_

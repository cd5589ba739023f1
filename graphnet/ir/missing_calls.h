// What a program asks for and something cannot do.
#ifndef GRAPHNET_IR_MISSING_CALLS_H_
#define GRAPHNET_IR_MISSING_CALLS_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/node.h"

namespace graphnet {

// By target and why, how many calls there are; the target is empty where no call is to blame.
using MissingCalls = std::map<std::pair<std::string, std::string>, size_t>;

// The status, which says that `what` is wrong with a node, so that AddMissing finds both. Each
// NodeError is one.
absl::Status WithNode(absl::Status status, const Node& node, absl::string_view what);

// Counts the error of one call: its target and why if it is WithNode, else just the message.
void AddMissing(const absl::Status& status, MissingCalls* missing);

}  // namespace graphnet

#endif  // GRAPHNET_IR_MISSING_CALLS_H_

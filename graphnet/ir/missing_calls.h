// Counts of the calls of a program that a reader, a writer or an engine does not support.
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

// The number of calls by target and reason. The target is empty if no call is the cause.
using MissingCalls = std::map<std::pair<std::string, std::string>, size_t>;

// Attaches the target of `node` and the reason `what` to `status`, so that AddMissing finds both.
// NodeError does this, too.
absl::Status WithNode(absl::Status status, const Node& node, absl::string_view what);

// Counts the error of one call, by the target and reason that WithNode attached, or else by the
// message alone.
void AddMissing(const absl::Status& status, MissingCalls* missing);

}  // namespace graphnet

#endif  // GRAPHNET_IR_MISSING_CALLS_H_

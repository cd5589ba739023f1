#include "graphnet/ir/node_error.h"

#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/missing_calls.h"

namespace graphnet {
namespace {

// The payloads of errors about nodes.
constexpr absl::string_view kTarget = "graphnet/node_target";
constexpr absl::string_view kReason = "graphnet/node_reason";

}  // namespace

absl::Status NodeError(const Node& node, absl::string_view what) {
  const SourceLocation at = node.location();
  const std::string message = absl::StrCat(node.target(), " (node ", node.name(), "): ", what);
  return WithNode(at.file.empty() ? absl::InvalidArgumentError(message)
                                  : ErrorAt(at.file, at.line, at.column, message),
                  node, what);
}

absl::Status WithNode(absl::Status status, const Node& node, absl::string_view what) {
  status.SetPayload(kTarget, absl::Cord(node.target()));
  status.SetPayload(kReason, absl::Cord(what));
  return status;
}

void AddMissing(const absl::Status& status, MissingCalls* missing) {
  const auto target = status.GetPayload(kTarget);
  const auto reason = status.GetPayload(kReason);
  const bool is_of_node = target.has_value() && reason.has_value();
  ++(*missing)[{is_of_node ? std::string(*target) : "",
                is_of_node ? std::string(*reason) : std::string(status.message())}];
}

}  // namespace graphnet

#include "graphnet/ir/node_error.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"

namespace graphnet {

absl::Status NodeError(const Node& node, absl::string_view what) {
  const SourceLocation at = node.location();
  const std::string message = absl::StrCat(node.target(), " (node ", node.name(), "): ", what);
  return at.file.empty() ? absl::InvalidArgumentError(message)
                         : ErrorAt(at.file, at.line, at.column, message);
}

}  // namespace graphnet

#include "graphnet/ops/verify_calls.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

// Refuses a call that writes to a literal: relu_(2.0).
absl::Status CheckWrites(const Node& call, const Node& origin) {
  const Schema* schema = FindOverload(call.target());
  if (schema == nullptr) return absl::OkStatus();
  for (size_t i = 0; i < schema->arguments.size() && i < call.args().size(); ++i) {
    const Argument& value = call.args()[i];
    if (schema->arguments[i].type.is_mutated && !value.is_node() && !value.is_aggregate()) {
      return NodeError(origin, absl::StrCat("writes to its argument ", schema->arguments[i].name,
                                            ", which is a literal"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyCalls(const Module& module) {
  RefusedCalls refused;
  ASSIGN_OR_RETURN(const LoweredModule lowered, LowerToAten(module, &refused));
  for (const Graph* graph : lowered.module->graphs()) {
    for (const Node* call : graph->nodes()) {
      if (!call->is_call()) continue;
      const Node* origin = lowered.origins[call];
      if (absl::Status status = CheckWrites(*call, *origin); !status.ok()) {
        refused.try_emplace(origin, std::move(status));
      }
    }
  }
  if (refused.empty()) return absl::OkStatus();
  for (const Graph* graph : module.graphs()) {
    for (const Node* node : graph->nodes()) {
      const auto it = refused.find(node);
      if (it == refused.end()) continue;
      if (refused.size() == 1) return it->second;
      return absl::Status(it->second.code(), absl::StrCat(it->second.message(), " (and ",
                                                          refused.size() - 1, " more)"));
    }
  }
  return absl::OkStatus();
}

}  // namespace graphnet

#include "graphnet/passes/dead_code.h"

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

size_t EliminateDeadCode(Module* module) {
  const Effects effects(*module);
  size_t erased = 0;
  for (Graph* graph : module->graphs()) {
    erased +=
        graph->EliminateDeadCode([&](const Node& node) { return effects.Of(node).is_pure(); });
  }
  if (erased > 0) module->EraseUnusedGraphs();
  return erased;
}

size_t EraseUnusedAttributes(Module* module) {
  absl::flat_hash_set<absl::string_view> read;
  for (const Graph* graph : module->graphs()) {
    for (const Node* node : graph->nodes()) {
      if (node->op() == Op::kGetAttr) read.insert(node->target());
    }
  }
  const std::vector<Attribute> all(module->attributes().begin(), module->attributes().end());
  module->EraseAllAttributes();
  size_t erased = 0;
  for (const Attribute& attribute : all) {
    if (read.contains(attribute.name)) {
      module->AddAttribute(attribute);
    } else {
      ++erased;
    }
  }
  return erased;
}

namespace {

absl::StatusOr<bool> DeadCode(Module* module, PassRun& run) {
  ASSIGN_OR_RETURN(const bool attributes, run.flag("attributes"));
  const size_t nodes = EliminateDeadCode(module);
  const size_t erased = attributes ? EraseUnusedAttributes(module) : 0;
  if (erased > 0) run.Note("attributes that nothing reads", erased);
  return nodes + erased > 0;
}

const RegisteredPass kDeadCodePass("dce", "dead_code.h", DeadCode, {"attributes"});

}  // namespace

}  // namespace graphnet

#include "graphnet/passes/dead_code.h"

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graphnet/ops/effects.h"

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

}  // namespace graphnet

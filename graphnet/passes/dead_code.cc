#include "graphnet/passes/dead_code.h"

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

}  // namespace graphnet

// Internal: finds how the sizes of values depend on symbols (shapes.h).
#ifndef GRAPHNET_INTERP_SYMBOL_PROBER_H_
#define GRAPHNET_INTERP_SYMBOL_PROBER_H_

#include <map>
#include <string>

#include "graphnet/interp/shape_run.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Replaces sizes in the metas, which are those for the example values, by expressions of symbols if
// runs with other values of the symbols agree with that (shapes.h). `values` are those of the run
// that gave the nodes their metas; `said` has the facts that were known before it.
void ProbeSymbols(Module* module, const std::map<std::string, TensorData>& values,
                  const SaidValues& said);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_SYMBOL_PROBER_H_

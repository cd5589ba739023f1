// How the sizes of values depend on symbols. Others see shapes.h.
#ifndef GRAPHNET_INTERP_SYMBOL_PROBER_H_
#define GRAPHNET_INTERP_SYMBOL_PROBER_H_

#include <map>
#include <string>

#include "graphnet/interp/shape_run.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Puts expressions of symbols in the place of sizes, of which the nodes have those for the example
// values, where runs with other values of the symbols agree with that; see shapes.h. `values` are
// those of the run that gave the nodes their metas; `said` is what was known before.
void ProbeSymbols(Module* module, const std::map<std::string, TensorData>& values,
                  const SaidValues& said);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_SYMBOL_PROBER_H_

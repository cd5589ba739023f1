// A graph as a table.
#ifndef GRAPHNET_VIEW_TABULAR_H_
#define GRAPHNET_VIEW_TABULAR_H_

#include <string>

#include "graphnet/ir/module.h"

namespace graphnet {

// Returns the table of torch.fx's Graph.print_tabular: a line for each node, with its op, name,
// target and arguments. Several graphs are several tables with titles.
std::string Tabular(const Module& module);

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_TABULAR_H_

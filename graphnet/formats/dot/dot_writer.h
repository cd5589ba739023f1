// Draws a module: text for Graphviz (`dot -Tsvg`).
//
// Boxes are nodes, coloured by op, with name, target and what is known of the
// value; arrows are uses. Nodes lie in nested frames after their module paths;
// a frame of one node would say little and is left out. Parameters and
// attributes are lines in the boxes of their users instead of boxes, so that the
// shape of the model stays visible. Each body of a higher-order operator has a
// frame of its own, to which a dashed arrow leads from the call.
#ifndef GRAPHNET_FORMATS_DOT_DOT_WRITER_H_
#define GRAPHNET_FORMATS_DOT_DOT_WRITER_H_

#include <string>

#include "graphnet/ir/module.h"

namespace graphnet {

// `module` must be verified. The text is deterministic and linear in its size.
std::string WriteDot(const Module& module);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_DOT_DOT_WRITER_H_

// Writes a picture as text for Graphviz (`dot -Tsvg`).
#ifndef GRAPHNET_VIEW_DOT_H_
#define GRAPHNET_VIEW_DOT_H_

#include <string>

#include "graphnet/view/picture.h"

namespace graphnet {

// Returns the text. Deterministic; linear in the size of the picture.
std::string WriteDot(const Picture& picture);

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_DOT_H_

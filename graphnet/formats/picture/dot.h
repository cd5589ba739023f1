// A picture as text for Graphviz (`dot -Tsvg`).
#ifndef GRAPHNET_FORMATS_PICTURE_DOT_H_
#define GRAPHNET_FORMATS_PICTURE_DOT_H_

#include <string>

#include "graphnet/formats/picture/picture.h"

namespace graphnet {

// Deterministic, and linear in the size of the picture.
std::string WriteDot(const Picture& picture);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_PICTURE_DOT_H_

// Writes a picture as SVG in our own layout.
#ifndef GRAPHNET_VIEW_SVG_H_
#define GRAPHNET_VIEW_SVG_H_

#include <string>

#include "graphnet/view/layout.h"
#include "graphnet/view/picture.h"

namespace graphnet {

// Returns one SVG drawing that needs no script, font or other file. `layout` must be of the
// picture.
std::string WriteSvg(const Picture& picture, const PictureLayout& layout);

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_SVG_H_

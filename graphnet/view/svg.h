// A picture as SVG, in our own layout: no script, no font and no file besides it.
#ifndef GRAPHNET_VIEW_SVG_H_
#define GRAPHNET_VIEW_SVG_H_

#include <string>

#include "graphnet/view/layout.h"
#include "graphnet/view/picture.h"

namespace graphnet {

// `layout` is of the picture.
std::string WriteSvg(const Picture& picture, const PictureLayout& layout);

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_SVG_H_

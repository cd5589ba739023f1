// A picture as SVG, in our own layout: no script, no font and no file besides it.
#ifndef GRAPHNET_FORMATS_PICTURE_SVG_H_
#define GRAPHNET_FORMATS_PICTURE_SVG_H_

#include <string>

#include "graphnet/formats/picture/layout.h"
#include "graphnet/formats/picture/picture.h"

namespace graphnet {

// `layout` is of the picture.
std::string WriteSvg(const Picture& picture, const PictureLayout& layout);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_PICTURE_SVG_H_

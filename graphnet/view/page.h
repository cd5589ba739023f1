// A picture as one page that needs nothing besides it: pan, zoom, search, modules that fold,
// and for each node its line of the text form. page.html and page.js are built in.
#ifndef GRAPHNET_VIEW_PAGE_H_
#define GRAPHNET_VIEW_PAGE_H_

#include <string>

#include "graphnet/view/layout.h"
#include "graphnet/view/picture.h"

namespace graphnet {

// `layout` is of the picture. Modules nested deeper than `depth` are folded at first; -1:
// as many as leave some hundred boxes.
std::string WritePage(const Picture& picture, const PictureLayout& layout, int depth = -1);

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_PAGE_H_

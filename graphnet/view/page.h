// Writes a picture as one self-contained HTML page with pan, zoom, search, modules that fold, and
// the text form of each node. page.html and page.js are built in.
#ifndef GRAPHNET_VIEW_PAGE_H_
#define GRAPHNET_VIEW_PAGE_H_

#include <string>

#include "graphnet/view/layout.h"
#include "graphnet/view/picture.h"

namespace graphnet {

// Returns the page. `layout` must be of the picture. Modules nested deeper than `depth` are folded
// at first; -1 chooses a depth that leaves some hundred boxes.
std::string WritePage(const Picture& picture, const PictureLayout& layout, int depth = -1);

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_PAGE_H_

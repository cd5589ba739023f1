// Writes a picture as one self-contained HTML page with pan, zoom, search, modules that fold, and
// the text form of each node. page.html and its scripts are built in.
#ifndef GRAPHNET_VIEW_PAGE_H_
#define GRAPHNET_VIEW_PAGE_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graphnet/ir/module.h"
#include "graphnet/view/layout.h"
#include "graphnet/view/node_values.h"
#include "graphnet/view/picture.h"

namespace graphnet {

// Says what a page shows besides its picture.
struct PageOptions {
  // Modules nested deeper are folded at first. With -1, up to 400 boxes are not folded, and of more,
  // as many modules unfold as leave 100 boxes.
  int depth = -1;
  // Lines that say how a node differs. The reader steps from one such node to the next. What is said
  // of a parameter, which has no box, is said of its users.
  absl::flat_hash_map<const Node*, std::vector<std::string>> notes;
  // Values that are shown at their nodes, and as colours.
  NodeValues values;
};

// Returns the page. `layout` must be of the picture.
std::string WritePage(const Picture& picture, const PictureLayout& layout,
                      const PageOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_PAGE_H_

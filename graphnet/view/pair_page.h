// Writes the pages of two pictures beside each other as one self-contained HTML page. They move, fold and
// select together: what stands for the same node in both is kept at the same place.
#ifndef GRAPHNET_VIEW_PAIR_PAGE_H_
#define GRAPHNET_VIEW_PAIR_PAGE_H_

#include <string>
#include <utility>

#include "absl/types/span.h"
#include "graphnet/ir/module.h"
#include "graphnet/view/page.h"
#include "graphnet/view/picture.h"

namespace graphnet {

// One half of the page.
struct PageSide {
  const Picture& picture;
  const PageOptions& options;
};

// Returns the page. `pairs` are nodes of the left picture and of the right one that are the same.
std::string WritePairPage(const PageSide& left, const PageSide& right,
                          absl::Span<const std::pair<const Node*, const Node*>> pairs);

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_PAIR_PAGE_H_

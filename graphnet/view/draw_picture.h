// Draws a module as a picture in the form that a file's ending stands for.
#ifndef GRAPHNET_VIEW_DRAW_PICTURE_H_
#define GRAPHNET_VIEW_DRAW_PICTURE_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"
#include "graphnet/view/page.h"
#include "graphnet/view/picture.h"

namespace graphnet {

enum class PictureForm { kDot, kSvg, kHtml, kModelExplorer };

struct DrawingOptions {
  PictureOptions part;
  int depth = -1;    // modules nested deeper are one box, or folded in a page; -1: none
  PageOptions page;  // for a page, whose `depth` is the one above

  bool is_given() const { return part.is_part() || depth >= 0; }
};

// Returns the form that the ending of a file's name stands for; nullopt if it is not a picture's.
std::optional<PictureForm> PictureFormOf(const std::string& path);

// Returns the content of the file. NotFound if the graph does not have the part that the options
// name.
absl::StatusOr<std::string> DrawPicture(const Module& module, PictureForm form,
                                        const DrawingOptions& options);

// A module to draw beside another one.
struct DrawingSide {
  const Module& module;
  const DrawingOptions& options;
};
// Returns a page that shows both beside each other, moving together. `pairs` are nodes of the left module
// and of the right one that are the same.
absl::StatusOr<std::string> DrawSideBySide(
    const DrawingSide& left, const DrawingSide& right,
    absl::Span<const std::pair<const Node*, const Node*>> pairs);

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_DRAW_PICTURE_H_

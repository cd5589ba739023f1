// The colours that all pictures share, and their meanings.
#ifndef GRAPHNET_VIEW_STYLE_H_
#define GRAPHNET_VIEW_STYLE_H_

#include <vector>

#include "graphnet/view/picture.h"

namespace graphnet {

// The colours of a kind of box, and their meaning.
struct BoxStyle {
  const char* meaning;  // "pointwise"
  const char* fill;     // on a light ground
  const char* line;
  const char* dark_fill;
};
// Return the style of a kind or mark.
const BoxStyle& StyleOf(BoxKind kind);
const BoxStyle& StyleOf(Mark mark);  // kNone: unmarked in a picture with marks
// Returns the style of a box: by mark in a picture with marks, otherwise by kind.
const BoxStyle& StyleOf(const Picture& picture, const Box& box);
// Returns the styles that occur in a picture, each once.
std::vector<const BoxStyle*> StylesIn(const Picture& picture);

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_STYLE_H_

// What all pictures share: colours and what they mean.
#ifndef GRAPHNET_VIEW_STYLE_H_
#define GRAPHNET_VIEW_STYLE_H_

#include <vector>

#include "graphnet/view/picture.h"

namespace graphnet {

struct BoxStyle {
  const char* meaning;  // "pointwise"
  const char* fill;     // on a light ground
  const char* line;
  const char* dark_fill;
};
const BoxStyle& StyleOf(BoxKind kind);
const BoxStyle& StyleOf(Mark mark);  // of kNone: in a picture that has others
// By mark in a picture with marks, else by kind.
const BoxStyle& StyleOf(const Picture& picture, const Box& box);
// The styles that occur in it, each once.
std::vector<const BoxStyle*> StylesIn(const Picture& picture);

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_STYLE_H_

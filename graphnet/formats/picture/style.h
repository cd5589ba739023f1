// What all pictures share: colours, what they mean, and text as XML and JSON have it.
#ifndef GRAPHNET_FORMATS_PICTURE_STYLE_H_
#define GRAPHNET_FORMATS_PICTURE_STYLE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/formats/picture/picture.h"

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

// `text`, UTF-8, for the content of an element or a quoted attribute. What XML does not
// allow becomes "?".
std::string XmlText(absl::string_view text);
// Quoted; also between <script> tags.
std::string JsonText(absl::string_view text);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_PICTURE_STYLE_H_

// Escapes arbitrary text for pages and pictures.
#ifndef GRAPHNET_BASE_MARKUP_H_
#define GRAPHNET_BASE_MARKUP_H_

#include <string>

#include "absl/strings/string_view.h"

namespace graphnet {

// Escapes UTF-8 text for the content of an element or a quoted attribute. Characters that XML does
// not allow become "?".
std::string XmlText(absl::string_view text);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_MARKUP_H_

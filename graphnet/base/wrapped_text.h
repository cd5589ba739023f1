// Text of two columns, such as the help of a command, broken to a width.
#ifndef GRAPHNET_BASE_WRAPPED_TEXT_H_
#define GRAPHNET_BASE_WRAPPED_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace graphnet {

// The lines of `text` broken between words, so that none is longer than `width` columns unless a
// word is. What continues a line of two columns ("  --json     print …") stands below the second
// one, if that leaves room; what continues another line stands below its first word.
std::string WrapText(absl::string_view text, size_t width);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_WRAPPED_TEXT_H_

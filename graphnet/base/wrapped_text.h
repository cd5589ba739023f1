// Wraps text of two columns, such as the help of a command, to a width.
#ifndef GRAPHNET_BASE_WRAPPED_TEXT_H_
#define GRAPHNET_BASE_WRAPPED_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace graphnet {

// Breaks the lines of `text` between words, so that no line has more than `width` columns unless a
// word has. The rest of a line with two columns ("  --json     print …") continues below the second
// column if there is room. The rest of any other line continues below its first word.
std::string WrapText(absl::string_view text, size_t width);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_WRAPPED_TEXT_H_

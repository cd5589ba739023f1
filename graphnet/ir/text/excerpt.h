// The line that an error is about, with a caret under the column:
//
//     %y = torch.relu(%z)
//                     ^
//
// A status message stays one line, so the excerpt travels beside it, as a
// payload. Every reader of text may attach one; the tool prints it below the
// message.
#ifndef GRAPHNET_IR_TEXT_EXCERPT_H_
#define GRAPHNET_IR_TEXT_EXCERPT_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// Attaches line `line` of `text` to a status that is not OK. Line and column
// count from 1, columns in bytes; a line of 0 or beyond the end attaches
// nothing, a column of 0 leaves out the caret. A long line is cut to about 100
// bytes around the column; what could harm a terminal is escaped.
absl::Status WithExcerpt(absl::Status status, absl::string_view text, size_t line, size_t column);

// What WithExcerpt attached: lines that end in '\n'. Empty if there is nothing.
std::string ErrorExcerpt(const absl::Status& status);

}  // namespace graphnet

#endif  // GRAPHNET_IR_TEXT_EXCERPT_H_

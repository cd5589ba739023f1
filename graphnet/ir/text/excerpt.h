// Excerpts show the line of an error, with a caret under the column:
//
//     %y = torch.relu(%z)
//                     ^
//
// A status message is one line, so the excerpt is a payload of the status. Every reader of text
// may attach one, and the tool prints it below the message.
#ifndef GRAPHNET_IR_TEXT_EXCERPT_H_
#define GRAPHNET_IR_TEXT_EXCERPT_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// Attaches line `line` of `text` to a status that is not OK. Lines and columns count from 1, and
// columns are in bytes. A line of 0 or beyond the end attaches nothing; a column of 0 omits the
// caret. A long line is cut to about 100 bytes around the column, and bytes that could harm a
// terminal are escaped.
absl::Status WithExcerpt(absl::Status status, absl::string_view text, size_t line, size_t column);

// Returns the lines that WithExcerpt attached, each ended by '\n'; empty if there are none.
std::string ErrorExcerpt(const absl::Status& status);

}  // namespace graphnet

#endif  // GRAPHNET_IR_TEXT_EXCERPT_H_

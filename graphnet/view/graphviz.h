// Runs Graphviz's `dot` as a separate program, if it is installed.
#ifndef GRAPHNET_VIEW_GRAPHVIZ_H_
#define GRAPHNET_VIEW_GRAPHVIZ_H_

#include <chrono>
#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// Limit of the boxes of a picture that is given to `dot`, whose time grows faster than their
// number.
inline constexpr size_t kMaxGraphvizBoxes = 2000;

// Returns the output of `dot -Tformat` for `text`, in format "svg" or "png". No shell is involved.
// The program may take `limit` of time, 4 GiB of memory and 1 GiB of output. NotFound if there is
// no `dot` on the PATH, DeadlineExceeded after `limit`, Internal with its message if it fails.
absl::StatusOr<std::string> RunGraphviz(absl::string_view text, absl::string_view format,
                                        std::chrono::seconds limit = std::chrono::seconds(60));

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_GRAPHVIZ_H_

// Graphviz's `dot`, where it is installed, as a program of its own.
#ifndef GRAPHNET_VIEW_GRAPHVIZ_H_
#define GRAPHNET_VIEW_GRAPHVIZ_H_

#include <chrono>
#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// Pictures of more boxes are not given to it: its time grows faster than their number.
inline constexpr size_t kMaxGraphvizBoxes = 2000;

// What `dot -Tformat` makes of `text`: "svg" or "png". No shell is asked; the program has
// `limit` of time, 4 GiB of memory and 1 GiB for what it writes.
// NotFound if there is no `dot` on the PATH; DeadlineExceeded; Internal with what it says.
absl::StatusOr<std::string> RunGraphviz(absl::string_view text, absl::string_view format,
                                        std::chrono::seconds limit = std::chrono::seconds(60));

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_GRAPHVIZ_H_

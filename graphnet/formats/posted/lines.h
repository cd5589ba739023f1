// Takes off what people and programs put around the lines of a graph that they post: prefixes of
// logs, quoting, prompts, colours and carriage returns.
#ifndef GRAPHNET_FORMATS_POSTED_LINES_H_
#define GRAPHNET_FORMATS_POSTED_LINES_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace graphnet::posted {

// A line without what was around it.
struct Line {
  absl::string_view text;
  // The artifact of TORCH_LOGS that it belongs to, such as "aot_graphs"; empty if it is of no log.
  absl::string_view artifact;
  // How many bytes of the line were taken off before the text.
  uint32_t offset = 0;
  // True for the fence of a Markdown block, of which nothing remains.
  bool is_fence = false;

  // The number of blanks before the text.
  size_t indent() const;
  // The text without blanks around it.
  absl::string_view words() const;
};

// The lines of a text in order.
class Lines {
 public:
  // `text` must outlive this. O(size of the text).
  explicit Lines(absl::string_view text);

  size_t size() const { return lines_.size(); }
  // The line of that index, from 0.
  const Line& operator[](size_t i) const { return lines_[i]; }

 private:
  std::vector<Line> lines_;
  std::deque<std::string> changed_;  // texts that had colours inside
};

}  // namespace graphnet::posted

#endif  // GRAPHNET_FORMATS_POSTED_LINES_H_

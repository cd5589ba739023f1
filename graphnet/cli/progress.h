// Progress of long work, for a person at a terminal.
#ifndef GRAPHNET_CLI_PROGRESS_H_
#define GRAPHNET_CLI_PROGRESS_H_

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"

namespace graphnet {

// A bar, or a text where the end is not known, on the terminal's last line, if there is
// a terminal.
class Progress {
 public:
  explicit Progress(size_t total = 0) : total_(total), on_(isatty(STDERR_FILENO) == 1) {}
  void Step(size_t done, size_t failed) {
    if (!on_) return;
    constexpr int kWidth = 40;
    const int filled = static_cast<int>(kWidth * done / std::max<size_t>(1, total_));
    std::fprintf(stderr, "\r[%s%s] %zu/%zu%s", std::string(filled, '#').c_str(),
                 std::string(kWidth - filled, ' ').c_str(), done, total_,
                 failed ? absl::StrCat(", ", failed, " failed").c_str() : "");
  }
  void Say(const std::string& text) {
    if (on_) std::fprintf(stderr, "\r\x1b[K%s", text.c_str());
  }
  void Clear() {
    if (on_) std::fprintf(stderr, "\r\x1b[K");
  }

 private:
  size_t total_;
  bool on_;
};

}  // namespace graphnet

#endif  // GRAPHNET_CLI_PROGRESS_H_

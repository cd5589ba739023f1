#include "graphnet/base/wrapped_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace graphnet {
namespace {

constexpr size_t kMinTextWidth = 30;  // least width of the second column

// Counts columns, which are characters and not bytes.
size_t Columns(absl::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// Returns the byte at which the second column of a line begins, or 0 without one.
size_t SecondColumn(absl::string_view line, size_t indent) {
  const size_t gap = line.find("  ", indent);
  if (gap == absl::string_view::npos) return 0;
  const size_t text = line.find_first_not_of(' ', gap);
  return text == absl::string_view::npos ? 0 : text;
}

void WrapLine(absl::string_view line, size_t width, std::string* out) {
  if (Columns(line) <= width) {
    absl::StrAppend(out, line);
    return;
  }
  const size_t first = line.find_first_not_of(' ');
  const size_t indent = first == absl::string_view::npos ? 0 : first;
  size_t hanging = indent + 2;
  size_t begin = indent;
  if (const size_t second = SecondColumn(line, indent); second > 0) {
    const size_t column = Columns(line.substr(0, second));
    if (column + kMinTextWidth <= width) hanging = column;
    begin = second;
  }
  if (hanging >= width) hanging = 0;
  absl::StrAppend(out, line.substr(0, begin));
  size_t at = Columns(line.substr(0, begin));
  bool is_first = true;
  for (const absl::string_view word : absl::StrSplit(line.substr(begin), ' ')) {
    const size_t columns = Columns(word);
    if (at + (is_first ? 0 : 1) + columns > width && at > hanging) {
      while (!out->empty() && out->back() == ' ') out->pop_back();
      absl::StrAppend(out, "\n", std::string(hanging, ' '));
      at = hanging;
    } else if (!is_first) {
      out->push_back(' ');
      ++at;
    }
    is_first = false;
    absl::StrAppend(out, word);
    at += columns;
  }
}

}  // namespace

std::string WrapText(absl::string_view text, size_t width) {
  std::string out;
  bool is_first = true;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!is_first) out.push_back('\n');
    is_first = false;
    WrapLine(line, width, &out);
  }
  return out;
}

}  // namespace graphnet

#include "graphnet/base/utf8.h"

#include "absl/strings/str_cat.h"

namespace graphnet {

size_t Utf8Length(absl::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char c = byte(0);
  const size_t n = c < 0x80                ? 1
                   : c >= 0xC2 && c < 0xE0 ? 2
                   : c >= 0xE0 && c < 0xF0 ? 3
                   : c >= 0xF0 && c < 0xF5 ? 4
                                           : 0;
  if (n == 0 || n > text.size()) return 0;
  for (size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (c == 0xE0 && byte(1) < 0xA0) return 0;  // overlong
  if (c == 0xED && byte(1) > 0x9F) return 0;  // surrogate
  if (c == 0xF0 && byte(1) < 0x90) return 0;  // overlong
  if (c == 0xF4 && byte(1) > 0x8F) return 0;  // above U+10FFFF
  return n;
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t n = static_cast<unsigned char>(text[0]) < 0x80 ? 1 : Utf8Length(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

std::string AsUtf8(absl::string_view text) {
  if (IsUtf8(text)) return std::string(text);
  std::string all;
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    absl::StrAppend(&all, length == 0 ? "\uFFFD" : text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return all;
}

}  // namespace graphnet

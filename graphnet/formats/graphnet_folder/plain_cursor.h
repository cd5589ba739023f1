// PlainCursor reads texts without tokens, as the writers of samples mostly write them. A text that
// is unusual in any way, or wrong, is left to a parser of tokens, so that both read the same.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_PLAIN_CURSOR_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_PLAIN_CURSOR_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/base/attributes.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/limits.h"
#include "graphnet/ir/argument.h"

namespace graphnet {

// The bytes from `next` to `end`, where a NUL stands.
struct PlainCursor {
  const char* next;
  const char* end;

  // Inlined, so that a text of the parser's own is compared as a few words.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool Accept(absl::string_view text) {
    if (static_cast<size_t>(end - next) < text.size() ||
        std::memcmp(next, text.data(), text.size()) != 0) {
      return false;
    }
    next += text.size();
    return true;
  }

  // Blanks and ends of lines, as they may stand inside brackets.
  void SkipBlanks(uint32_t* lines) {
    while (*next == ' ' || *next == '\n') {
      if (Accept("        ")) continue;
      *lines += *next++ == '\n';
    }
  }

  // Returns -1 unless digits follow, of a number without zeros in front that is far from too large.
  int64_t TakeDigits() {
    const char* const begin = next;
    const int64_t value = AddDigits(0, 16);
    const bool is_plain = next > begin && (*begin != '0' || next - begin == 1);
    return is_plain ? value : -1;
  }

  // Takes a number of few digits, whose value as a float is one exact division away.
  bool TakeNumber(Argument* number) {
    static constexpr double kPowers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
    constexpr int64_t kMostDigits = 10'000'000;
    const bool negative = Accept("-");
    int64_t value = TakeDigits();
    if (value < 0) return false;
    if (!Accept(".")) {
      *number = Argument(negative ? -value : value);
      return true;
    }
    if (value > kMostDigits) return false;
    const char* const begin = next;
    value = AddDigits(value, 8);
    if (next == begin) return false;
    const double real = static_cast<double>(value) / kPowers[next - begin];
    *number = Argument(negative ? -real : real);
    return true;
  }

  // Takes a text in double quotes without escapes.
  bool TakeText(absl::string_view* text) {
    if (!Accept("\"")) return false;
    const char* const begin = next;
    while (*next != '"' && *next != '\\' && *next >= ' ') ++next;
    *text = {begin, static_cast<size_t>(next - begin)};
    return Accept("\"") && text->size() <= kMaxNameBytes;
  }

  // Takes all that stands in double quotes, with its escapes.
  bool TakeQuoted(absl::string_view* text) {
    if (!Accept("\"")) return false;
    const size_t most = std::min(static_cast<size_t>(end - next), kMaxNameBytes + 1);
    const void* const quote = std::memchr(next, '"', most);
    if (quote == nullptr) return false;
    *text = {next, static_cast<size_t>(static_cast<const char*>(quote) - next)};
    next += text->size() + 1;
    return true;
  }

 private:
  // Returns `value` with the digits that follow, at most so many, written behind it.
  int64_t AddDigits(int64_t value, ptrdiff_t most) {
    const char* p = next;
    for (const char* const last = p + most; p < last; ++p) {
      const unsigned digit = static_cast<unsigned char>(*p) - unsigned{'0'};
      if (digit > 9) break;
      value = value * 10 + digit;
    }
    next = p;
    return value;
  }
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_PLAIN_CURSOR_H_

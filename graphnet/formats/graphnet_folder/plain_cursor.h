// PlainCursor reads text without a scanner, if it is spelled as writers of samples usually spell
// it. Text that is unusual in any way, or wrong, is left to a parser of tokens, so both paths
// agree.
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

// A cursor over the bytes from `next` to `end`. A NUL must be at `end`.
struct PlainCursor {
  const char* next;
  const char* end;

  // Passes over `text` if it comes next. Inlined, so that a constant is compared in a few words.
  ABSL_ATTRIBUTE_ALWAYS_INLINE bool Accept(absl::string_view text) {
    if (static_cast<size_t>(end - next) < text.size() ||
        std::memcmp(next, text.data(), text.size()) != 0) {
      return false;
    }
    next += text.size();
    return true;
  }

  // Passes over blanks and ends of lines, as they may occur inside brackets. Adds the latter to
  // `lines`.
  void SkipBlanks(uint32_t* lines) {
    while (*next == ' ' || *next == '\n') {
      if (Accept("        ")) continue;
      *lines += *next++ == '\n';
    }
  }

  // Takes a number of at most 16 digits without leading zeros. Returns -1 if none comes next.
  int64_t TakeDigits() {
    const char* const begin = next;
    const int64_t value = AddDigits(0, 16);
    const bool is_plain = next > begin && (*begin != '0' || next - begin == 1);
    return is_plain ? value : -1;
  }

  // Takes an integer or a float of so few digits that one division gives its exact value.
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

  // Takes a string in double quotes and leaves its escapes as they are. It ends at the first quote.
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
  // Takes at most `most` digits and returns the number that they make when appended to `value`.
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

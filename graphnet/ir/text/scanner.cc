#include "graphnet/ir/text/scanner.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/text/excerpt.h"

namespace graphnet::text_internal {
namespace {

using literal_internal::Is;
using literal_internal::kDigit;
using literal_internal::kName;
using literal_internal::kSpace;

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void Scanner::SkipMoreSpace() {
  while (p_ != end_) {
    if (Is(*p_, kSpace)) {
      ++p_;
    } else if (*p_ == '#') {
      const void* newline = std::memchr(p_, '\n', static_cast<size_t>(end_ - p_));
      p_ = newline == nullptr ? end_ : static_cast<const char*>(newline) + 1;
    } else {
      return;
    }
  }
}

absl::string_view Scanner::PeekMetaText() {
  constexpr size_t kMaxBytes = 100;
  const char* q = Here();
  const char* const last = static_cast<size_t>(end_ - q) > kMaxBytes ? q + kMaxBytes : end_;
  while (q != last && Is(*q, kName)) ++q;
  if (q != last && *q == '[') {
    while (q != last && *q != ']') ++q;
    if (q != last) ++q;
  }
  if (q != last && *q == '@') {
    do ++q;
    while (q != last && (Is(*q, kName) || *q == ':'));
  }
  return q == last ? absl::string_view() : absl::string_view(p_, static_cast<size_t>(q - p_));
}

bool Scanner::ReadName(absl::string_view what, absl::string_view* out) {
  const char* const start = Here();
  *out = PeekWord();
  if (!out->empty() && (*out)[0] != '.') {
    p_ += out->size();
  } else if (Peek() == '"') {
    if (!ReadString(what, out)) return false;
  } else {
    return Fail(what);
  }
  if (out->size() <= kMaxNameBytes) return true;
  return FailAt(start,
                absl::StrCat("the name has ", out->size(), " bytes; the limit is ", kMaxNameBytes));
}

bool Scanner::ReadNonemptyName(absl::string_view what, absl::string_view* out) {
  const char* const start = Here();
  if (!ReadName(what, out)) return false;
  return !out->empty() || FailAt(start, absl::StrCat("expected ", what, ", found an empty name"));
}

bool Scanner::ReadString(absl::string_view what, absl::string_view* out) {
  if (Peek() != '"') return Fail(what);
  const char* const start = p_ + 1;
  bool escaped = false;
  for (const char* q = start; q != end_ && *q != '\n'; ++q) {
    if (*q == '"') {
      p_ = q + 1;
      *out = absl::string_view(start, static_cast<size_t>(q - start));
      return !escaped || Unescape(start, q, out);
    }
    if (*q == '\\') {
      escaped = true;
      if (++q == end_ || *q == '\n') break;
    }
  }
  return FailAt(start - 1, "the string does not end on its line");
}

bool Scanner::Unescape(const char* q, const char* end, absl::string_view* out) {
  char* const start = scratch_.NewArray<char>(static_cast<size_t>(end - q));
  char* to = start;
  while (q != end) {
    if (*q != '\\') {
      *to++ = *q++;
      continue;
    }
    const char* const escape = q++;  // The string ends with a quote, so *q exists.
    switch (*q++) {
      case 'n': *to++ = '\n'; break;
      case 't': *to++ = '\t'; break;
      case 'r': *to++ = '\r'; break;
      case '"': *to++ = '"'; break;
      case '\\': *to++ = '\\'; break;
      case 'x': {
        const int high = end - q >= 2 ? HexValue(q[0]) : -1;
        const int low = end - q >= 2 ? HexValue(q[1]) : -1;
        if (high < 0 || low < 0) return FailAt(escape, "expected two hexadecimal digits after \\x");
        *to++ = static_cast<char>(high * 16 + low);
        q += 2;
        break;
      }
      default: return FailAt(escape, R"(expected \n, \t, \r, \", \\ or \xNN)");
    }
  }
  *out = absl::string_view(start, static_cast<size_t>(to - start));
  return true;
}

bool Scanner::ReadAnyInteger(absl::string_view what, int64_t* out) {
  Argument number;
  const char* const start = Here();
  if (!ReadNumber(what, &number)) return false;
  if (!number.is_int()) {
    p_ = start;
    return Fail(what);
  }
  *out = number.integer();
  return true;
}

bool Scanner::ReadCount(absl::string_view what, uint64_t max, uint64_t* out) {
  const char* const start = Here();
  int64_t value = 0;
  if (!ReadInteger(what, &value)) return false;
  if (value < 0 || static_cast<uint64_t>(value) > max) {
    return FailAt(start, absl::StrCat("expected ", what, " from 0 to ", max));
  }
  *out = static_cast<uint64_t>(value);
  return true;
}

bool Scanner::ReadFloat(absl::string_view what, double* out) {
  Argument number;
  if (!ReadNumber(what, &number)) return false;
  *out = number.is_int() ? static_cast<double>(number.integer()) : number.real();
  return true;
}

bool Scanner::ReadNumber(absl::string_view what, Argument* out) {
  const char* const start = Here();
  const bool negative = TryChar('-');
  const char* q = p_;
  uint64_t value = 0;
  while (q != end_ && Is(*q, kDigit)) value = value * 10 + static_cast<uint64_t>(*q++ - '0');
  if (q == p_) {
    // Without a digit, the number must be a word.
    double special = 0;
    if (negative && (p_ == end_ || *p_ != 'i')) {
      p_ = start;
      return Fail(what);
    }
    if (TryWord("inf")) {
      special = negative ? -std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::infinity();
    } else if (TryWord("nan")) {
      if (!ReadNan(&special)) return false;
    } else {
      p_ = start;
      return Fail(what);
    }
    *out = special;
    return true;
  }
  if (q == end_ || (*q != '.' && *q != 'e' && *q != 'E')) {
    if (q - p_ > 18) {  // The number may not fit.
      int64_t exact = 0;
      if (std::from_chars(start, q, exact).ec != std::errc()) {
        return FailAt(start, "the integer does not fit 64 bits");
      }
      value = static_cast<uint64_t>(exact < 0 ? -static_cast<uint64_t>(exact)
                                              : static_cast<uint64_t>(exact));
    }
    p_ = q;
    *out = static_cast<int64_t>(negative ? -value : value);
    return true;
  }
  double real = 0;
  const auto result = std::from_chars(start, end_, real);
  if (result.ec != std::errc()) return FailAt(start, "the number does not fit a 64-bit float");
  p_ = result.ptr;
  *out = real;
  return true;
}

// Reads the bits of a nan, "(0x7ff8000000000001)", which may follow the word.
bool Scanner::ReadNan(double* out) {
  *out = std::numeric_limits<double>::quiet_NaN();
  if (!TryChar('(')) return true;
  const char* const start = Here();
  const absl::string_view digits = PeekWord();
  uint64_t bits = 0;
  const bool hex = digits.size() == 18 && digits[0] == '0' && digits[1] == 'x';
  if (hex) {
    const auto result = std::from_chars(start + 2, start + 18, bits, 16);
    if (result.ec == std::errc() && result.ptr == start + 18 &&
        std::isnan(std::bit_cast<double>(bits))) {
      p_ = start + 18;
      *out = std::bit_cast<double>(bits);
      return Expect(')');
    }
  }
  return Fail("the bits of a nan, such as 0x7ff8000000000001");
}

std::string Scanner::Found() {
  if (AtEnd()) return "the end of the text";
  constexpr size_t kMaxBytes = 40;
  const absl::string_view rest(p_, static_cast<size_t>(end_ - p_));
  size_t size = PeekWord().size();
  if (size == 0 && *p_ == '"') {
    size = rest.substr(1).find('"');
    size = size == absl::string_view::npos ? rest.find('\n') : size + 2;
    size = std::min(size, rest.size());
  }
  if (size == 0) {  // Shows one character with its continuation bytes.
    size = 1;
    while (size < std::min<size_t>(rest.size(), 4) &&
           (static_cast<unsigned char>(rest[size]) & 0xC0) == 0x80)
      ++size;
  }
  if (size > kMaxBytes) return absl::StrCat("'", rest.substr(0, kMaxBytes), "...'");
  return absl::StrCat("'", rest.substr(0, size), "'");
}

bool Scanner::FailExpectedChar(char c) {
  return Fail(absl::StrCat("'", absl::string_view(&c, 1), "'"));
}

bool Scanner::Fail(absl::string_view what) {
  if (failed()) return false;
  // The printer writes "<90 more>" where it cuts; no valid text has this.
  if (Peek() == '<' && end_ - p_ > 1 && Is(p_[1], kName)) {
    return FailAt(p_, "the text was cut here when it was printed for people to read");
  }
  const std::string found = Found();
  return FailAt(p_, absl::StrCat("expected ", what, ", found ", found));
}

bool Scanner::FailAt(const char* where, std::string message) {
  if (failed()) return false;
  error_ = where;
  message_ = std::move(message);
  return false;
}

absl::Status Scanner::status(absl::string_view file) const {
  if (!failed()) return absl::OkStatus();
  const size_t line = static_cast<size_t>(std::count(begin_, error_, '\n')) + 1;
  const char* start = error_;
  while (start != begin_ && start[-1] != '\n') --start;
  const size_t column = static_cast<size_t>(error_ - start) + 1;
  const absl::string_view text(begin_, static_cast<size_t>(end_ - begin_));
  return WithExcerpt(ErrorAt(file, line, column, message_), text, line, column);
}

}  // namespace graphnet::text_internal

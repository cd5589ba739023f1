#include "graphnet/text/literal.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace graphnet {
namespace {

using literal_internal::Is;
using literal_internal::kDigit;
using literal_internal::kName;
using literal_internal::kPlain;

constexpr char kHex[] = "0123456789abcdef";

// Length of the UTF-8 sequence of a printable non-ASCII character at the start
// of `s`; 0 if there is none. C1 controls (U+0080..U+009F) do not count.
size_t PrintableUtf8Length(absl::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char c = byte(0);
  const size_t n = c < 0xC2 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : 0;
  if (n == 0 || n > s.size()) return 0;
  for (size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (c == 0xC2 && byte(1) < 0xA0) return 0;  // C1 control
  if (c == 0xE0 && byte(1) < 0xA0) return 0;  // overlong
  if (c == 0xED && byte(1) > 0x9F) return 0;  // surrogate
  if (c == 0xF0 && byte(1) < 0x90) return 0;  // overlong
  if (c == 0xF4 && byte(1) > 0x8F) return 0;  // above U+10FFFF
  return n;
}

}  // namespace

void AppendInteger(int64_t value, std::string* out) {
  if (value >= 0 && value < 10) {
    out->push_back(static_cast<char>('0' + value));
    return;
  }
  char buffer[24];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  out->append(buffer, static_cast<size_t>(result.ptr - buffer));
}

void AppendFloat(double value, std::string* out) {
  if (std::isnan(value)) {
    const uint64_t bits = std::bit_cast<uint64_t>(value);
    out->append("nan");
    if (bits == std::bit_cast<uint64_t>(std::numeric_limits<double>::quiet_NaN())) return;
    out->append("(0x");
    for (int shift = 60; shift >= 0; shift -= 4) out->push_back(kHex[(bits >> shift) & 15]);
    out->push_back(')');
    return;
  }
  if (std::isinf(value)) {
    out->append(value < 0 ? "-inf" : "inf");
    return;
  }
  // Python's repr: an exponent below 1e-4 and from 1e16 on.
  const double magnitude = std::fabs(value);
  const bool fixed = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  char buffer[40];
  const auto result =
      std::to_chars(buffer, buffer + sizeof buffer, value,
                    fixed ? std::chars_format::fixed : std::chars_format::scientific);
  const absl::string_view text(buffer, static_cast<size_t>(result.ptr - buffer));
  out->append(text.data(), text.size());
  if (fixed && text.find('.') == absl::string_view::npos) out->append(".0");
}

void AppendQuoted(absl::string_view text, std::string* out) {
  out->push_back('"');
  size_t i = 0;
  while (i < text.size()) {
    const size_t start = i;
    while (i < text.size() && Is(text[i], kPlain)) ++i;
    out->append(text.data() + start, i - start);
    if (i == text.size()) break;
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (c >= 0x80) {
      if (const size_t n = PrintableUtf8Length(text.substr(i)); n > 0) {
        out->append(text.data() + i, n);
        i += n;
        continue;
      }
    }
    ++i;
    out->push_back('\\');
    switch (c) {
      case '\n': out->push_back('n'); break;
      case '\t': out->push_back('t'); break;
      case '\r': out->push_back('r'); break;
      case '"': out->push_back('"'); break;
      case '\\': out->push_back('\\'); break;
      default:
        out->push_back('x');
        out->push_back(kHex[c >> 4]);
        out->push_back(kHex[c & 15]);
    }
  }
  out->push_back('"');
}

bool IsBareName(absl::string_view name) {
  if (name.empty() || name[0] == '.') return false;
  for (const char c : name) {
    if (!Is(c, kName)) return false;
  }
  return true;
}

bool IsBareWord(absl::string_view name) { return IsBareName(name) && !Is(name[0], kDigit); }

void AppendName(absl::string_view name, std::string* out) {
  if (IsBareName(name)) {
    out->append(name.data(), name.size());
  } else {
    AppendQuoted(name, out);
  }
}

void AppendWord(absl::string_view name, std::string* out) {
  if (IsBareWord(name)) {
    out->append(name.data(), name.size());
  } else {
    AppendQuoted(name, out);
  }
}

}  // namespace graphnet

#include "graphnet/ir/text/literal.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "graphnet/base/utf8.h"

namespace graphnet {
namespace {

using literal_internal::Is;
using literal_internal::kDigit;
using literal_internal::kName;
using literal_internal::kPlain;

constexpr char kHex[] = "0123456789abcdef";

// Returns the bytes of the printable character beyond ASCII at the start of `s`; 0 if there is
// none. C1 controls (U+0080..U+009F) are not printable.
size_t PrintableUtf8Length(absl::string_view s) {
  const size_t n = Utf8Length(s);
  const bool is_control = n == 2 && s[0] == '\xC2' && static_cast<unsigned char>(s[1]) < 0xA0;
  return n == 1 || is_control ? 0 : n;
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
  // Like Python's repr, writes an exponent below 1e-4 and from 1e16 on.
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

#include "graphnet/paddle/pir/scanner.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/text/excerpt.h"

namespace graphnet::pir {
namespace {

bool IsWordStart(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool IsWordCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}
bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

}  // namespace

bool Scanner::Fail(const char* where, absl::string_view message) {
  if (!status_.ok()) return false;
  const absl::string_view before = text_.substr(0, static_cast<size_t>(where - text_.data()));
  const auto line = static_cast<size_t>(absl::c_count(before, '\n')) + 1;
  const size_t start = before.rfind('\n');
  const size_t column = before.size() - (start == absl::string_view::npos ? 0 : start + 1) + 1;
  status_ = WithExcerpt(ErrorAt(file_name_, line, column, message), text_, line, column);
  return false;
}

bool Scanner::FailExpected(absl::string_view what) {
  Skip();
  size_t size = 0;
  while (size < 20 && pos_ + size < text_.size() && text_[pos_ + size] != '\n') ++size;
  const std::string found =
      size == 0 ? "the end" : absl::StrCat("'", text_.substr(pos_, size), "'");
  return Fail(at(), absl::StrCat("expected ", what, ", found ", found));
}

void Scanner::Skip() {
  while (pos_ < text_.size()) {
    if (absl::ascii_isspace(static_cast<unsigned char>(text_[pos_]))) {
      ++pos_;
    } else if (absl::StartsWith(text_.substr(pos_), "//")) {
      while (pos_ < text_.size() && text_[pos_] != '\n') ++pos_;
    } else {
      return;
    }
  }
}

bool Scanner::Peek(absl::string_view token) { return absl::StartsWith(rest(), token); }

bool Scanner::Take(absl::string_view token) {
  if (!Peek(token)) return false;
  pos_ += token.size();
  return true;
}

bool Scanner::Expect(absl::string_view token) {
  return Take(token) || FailExpected(absl::StrCat("'", token, "'"));
}

absl::string_view Scanner::TakeWord() {
  const absl::string_view text = rest();
  if (text.empty() || !IsWordStart(text[0])) return "";
  size_t size = 1;
  while (size < text.size() && IsWordCharacter(text[size])) ++size;
  pos_ += size;
  return text.substr(0, size);
}

bool Scanner::ReadValue(absl::string_view* value) {
  const absl::string_view text = rest();
  size_t size = 1;
  while (size < text.size() && IsWordCharacter(text[size])) ++size;
  if (text.empty() || text[0] != '%' || size == 1) return FailExpected("a value such as %0");
  *value = text.substr(0, size);
  pos_ += size;
  return true;
}

bool Scanner::ReadString(std::string* out) {
  const char* start = at();
  if (!Take("\"")) return FailExpected("a string");
  out->clear();
  while (pos_ < text_.size() && text_[pos_] != '"') {
    char c = text_[pos_++];
    if (c == '\\' && pos_ < text_.size()) {
      const char escaped = text_[pos_];
      const auto digit = [&](size_t i) {
        const char d = pos_ + i < text_.size() ? text_[pos_ + i] : 'g';
        return IsDigit(d) ? d - '0' : d >= 'a' && d <= 'f' ? d - 'a' + 10 : -1;
      };
      if (escaped == '"' || escaped == '\\') {
        c = escaped;
        ++pos_;
      } else if (escaped == 'n' || escaped == 't' || escaped == 'r') {
        c = escaped == 'n' ? '\n' : escaped == 't' ? '\t' : '\r';
        ++pos_;
      } else if (escaped == 'x' && digit(1) >= 0 && digit(2) >= 0) {
        c = static_cast<char>(digit(1) * 16 + digit(2));
        pos_ += 3;
      }
    }
    *out += c;
  }
  if (pos_ >= text_.size()) return Fail(start, "the string does not end");
  ++pos_;
  return out->size() <= kMaxTextFileBytes;
}

bool Scanner::ReadInt(int64_t* value) {
  double ignored = 0;
  bool is_int = false;
  const char* start = at();
  if (!ReadNumber(&ignored, value, &is_int)) return false;
  return is_int || Fail(start, "expected an integer of 64 bits");
}

bool Scanner::ReadNumber(double* value, int64_t* integer, bool* is_int) {
  const absl::string_view text = rest();
  *is_int = false;
  const bool is_negative = absl::StartsWith(text, "-");
  for (const absl::string_view word : {"inf", "nan"}) {
    if (!absl::StartsWith(text.substr(is_negative ? 1 : 0), word)) continue;
    *value = word == "nan" ? std::numeric_limits<double>::quiet_NaN()
                           : (is_negative ? -1 : 1) * std::numeric_limits<double>::infinity();
    pos_ += word.size() + (is_negative ? 1 : 0);
    return true;
  }
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, *value);
  if (text.empty() || result.ptr == text.data() || (!IsDigit(text[0]) && !is_negative)) {
    return FailExpected("a number");
  }
  if (result.ec != std::errc()) return Fail("the number is out of range");
  const auto whole = std::from_chars(text.data(), end, *integer);
  *is_int = whole.ec == std::errc() && whole.ptr == result.ptr;
  pos_ += static_cast<size_t>(result.ptr - text.data());
  return true;
}

bool Scanner::ReadRaw(absl::string_view* out) {
  const absl::string_view text = rest();
  int depth = 0;
  size_t size = 0;
  for (; size < text.size(); ++size) {
    const char c = text[size];
    if (c == '\n' || c == '"') break;
    if (absl::StrContains("([{<", absl::string_view(&c, 1))) ++depth;
    if (absl::StrContains(")]}>", absl::string_view(&c, 1)) && --depth < 0) break;
    if (c == ',' && depth == 0) break;
  }
  *out = absl::StripAsciiWhitespace(text.substr(0, size));
  if (out->empty()) return FailExpected("a value");
  pos_ += size;
  return true;
}

}  // namespace graphnet::pir

#include "graphnet/formats/graphnet_folder/scanner.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/base/utf8.h"

namespace graphnet {
namespace {

// kSkipped marks the characters that SkipSpace handles, kSingle the punctuation marks that are
// never part of a longer one.
enum : uint8_t {
  kNameStart = 1,
  kNameRest = 2,
  kDigit = 4,
  kSpace = 8,
  kSkipped = 16,
  kSingle = 32,
};

constexpr std::array<uint8_t, 256> MakeClasses() {
  std::array<uint8_t, 256> out{};
  for (int c = 'a'; c <= 'z'; ++c) out[c] = kNameStart | kNameRest;
  for (int c = 'A'; c <= 'Z'; ++c) out[c] = kNameStart | kNameRest;
  out['_'] = kNameStart | kNameRest;
  for (int c = '0'; c <= '9'; ++c) out[c] = kNameRest | kDigit;
  out[' '] = out['\t'] = kSpace | kSkipped;
  out['#'] = out['\r'] = out['\n'] = out['\\'] = kSkipped;
  for (const char c : {',', ':', ';', '~', '(', ')', '[', ']', '{', '}'}) {
    out[static_cast<unsigned char>(c)] = kSingle;
  }
  return out;
}
constexpr std::array<uint8_t, 256> kClasses = MakeClasses();

uint8_t Class(char c) { return kClasses[static_cast<unsigned char>(c)]; }

// These functions find the end of a run, 16 bytes at a time if the processor can. Names of
// parameters and indentation are most of the input.
inline const char* EndOfName(const char* p, const char* end) {
#ifdef __SSE2__
  // A range of characters is moved to the least signed bytes. One comparison with its end then
  // suffices.
  const auto moved = [](char first) { return _mm_set1_epi8(static_cast<char>(first + 128)); };
  const __m128i to_letters = moved('a'), to_digits = moved('0');
  const __m128i letters_end = moved(26), digits_end = moved(10);
  const __m128i bar = _mm_set1_epi8('_'), case_bit = _mm_set1_epi8(0x20);
  for (; end - p >= 16; p += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i letter =
        _mm_cmplt_epi8(_mm_sub_epi8(_mm_or_si128(bytes, case_bit), to_letters), letters_end);
    const __m128i digit = _mm_cmplt_epi8(_mm_sub_epi8(bytes, to_digits), digits_end);
    const __m128i name = _mm_or_si128(_mm_or_si128(letter, digit), _mm_cmpeq_epi8(bytes, bar));
    const unsigned others = ~static_cast<unsigned>(_mm_movemask_epi8(name)) & 0xffff;
    if (others != 0) return p + std::countr_zero(others);
  }
#endif
  while (p < end && Class(*p) & kNameRest) ++p;
  return p;
}

const char* EndOfSpaces(const char* p, const char* end) {
#ifdef __SSE2__
  const __m128i space = _mm_set1_epi8(' ');
  for (; end - p >= 16; p += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const unsigned others =
        ~static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, space))) & 0xffff;
    if (others != 0) return p + std::countr_zero(others);
  }
#endif
  while (p < end && *p == ' ') ++p;
  return p;
}

// Returns the first quote, backslash, newline, NUL or byte beyond ASCII.
const char* EndOfPlainString(const char* p, const char* end, char quote) {
#ifdef __SSE2__
  const __m128i quotes = _mm_set1_epi8(quote), backslash = _mm_set1_epi8('\\');
  // NUL is less than 1, and so are bytes beyond ASCII, which are negative.
  const __m128i newline = _mm_set1_epi8('\n'), one = _mm_set1_epi8(1);
  for (; end - p >= 16; p += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i stop = _mm_or_si128(
        _mm_or_si128(_mm_cmpeq_epi8(bytes, quotes), _mm_cmplt_epi8(bytes, one)),
        _mm_or_si128(_mm_cmpeq_epi8(bytes, backslash), _mm_cmpeq_epi8(bytes, newline)));
    const unsigned stops = static_cast<unsigned>(_mm_movemask_epi8(stop));
    if (stops != 0) return p + std::countr_zero(stops);
  }
#endif
  while (p < end && *p != quote && *p != '\\' && *p != '\n' && static_cast<signed char>(*p) > 0) {
    ++p;
  }
  return p;
}

// Returns whether Python accepts the text in strings and comments: it is UTF-8 without NUL.
bool IsPythonText(absl::string_view text) {
  constexpr uint64_t kBytes = 0x0101010101010101;  // times b: eight bytes b
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    // Then a byte is 0 or beyond ASCII, or follows one that is 0.
    if (((word - kBytes) | word) & (0x80 * kBytes)) break;
  }
  text.remove_prefix(i);
  return !absl::StrContains(text, '\0') && IsUtf8(text);
}

constexpr uint64_t kMinInt = uint64_t{1} << 63;
constexpr absl::string_view kMinIntText = "9223372036854775808";

// Returns whether an underscore separates two digits, or a digit and a prefix such as 0x.
bool IsUnderscore(const char* p) {
  return *p == '_' && Class(p[-1]) & kNameRest && p[-1] != '_' && Class(p[1]) & kNameRest &&
         p[1] != '_';
}

// Skips digits, and the underscores between them. Sets `underscores` if there are any.
void SkipDigits(const char** p, bool* underscores) {
  while (true) {
    while (Class(**p) & kDigit) ++*p;
    // An underscore must be between two digits: 1_.5 and 1._5 are not numbers.
    if (**p != '_' || !(Class((*p)[-1]) & kDigit) || !(Class((*p)[1]) & kDigit)) return;
    *underscores = true;
    ++*p;
  }
}

// Returns whether a comment on one of the first two lines names an encoding other than UTF-8, after
// "coding:" or "coding=". Python has several names for UTF-8. Sets `names_one` if the comment names
// any encoding.
bool NamesOtherCoding(absl::string_view comment, bool* names_one) {
  constexpr absl::string_view kWord = "coding";
  for (size_t at = comment.find(kWord); at != absl::string_view::npos;
       at = comment.find(kWord, at + 1)) {
    absl::string_view rest = comment.substr(at + kWord.size());
    if (rest.empty() || (rest[0] != ':' && rest[0] != '=')) continue;
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t", 1), rest.size()));
    size_t n = 0;
    while (n < rest.size() && (Class(rest[n]) & kNameRest || rest[n] == '-' || rest[n] == '.')) ++n;
    if (n == 0) continue;
    *names_one = true;
    const std::string name =
        absl::StrReplaceAll(absl::AsciiStrToLower(rest.substr(0, n)), {{"_", "-"}});
    return name != "utf-8" && !absl::StartsWith(name, "utf-8-") && name != "utf8" && name != "u8" &&
           name != "utf" && name != "cp65001";
  }
  return false;
}

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xC0 | code >> 6));
    out->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | code >> 12));
    out->push_back(static_cast<char>(0x80 | (code >> 6 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xF0 | code >> 18));
    out->push_back(static_cast<char>(0x80 | (code >> 12 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (code >> 6 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
}

}  // namespace

Scanner::Scanner(const std::string& text, absl::string_view file_name)
    : file_(file_name),
      text_(text),
      p_(text.data()),
      end_(text.data() + text.size()),
      line_start_(text.data()) {
  // A byte-order mark is not a part of the text.
  if (absl::StartsWith(text, "\xef\xbb\xbf")) line_start_ = p_ += 3;
  Next();
}

void Scanner::Fail(const char* where, absl::string_view message) {
  token_.kind = TokenKind::kError;
  token_.begin = where;
  error_ = std::string(message);
}

void Scanner::FailNesting() {
  Fail(p_, absl::StrCat("brackets nest more than ", kMaxNesting, " deep"));
}

void Scanner::SkipComment() {
  const void* const newline = std::memchr(p_, '\n', static_cast<size_t>(end_ - p_));
  const char* const begin = p_;
  p_ = newline ? static_cast<const char*>(newline) : end_;
  const absl::string_view comment(begin, static_cast<size_t>(p_ - begin));
  if (!IsPythonText(comment)) return Fail(begin, "the comment holds a NUL or is not UTF-8");
  // Like Python, look for an encoding only before the first token.
  if (line_ <= 2 && token_.begin == nullptr && !has_coding_ &&
      NamesOtherCoding(comment, &has_coding_)) {
    Fail(begin, "the file says that it is not in UTF-8");
  }
}

// Skips blanks, comments and line joins, and also newlines inside brackets and between logical
// lines.
void Scanner::SkipSpace() {
  while (true) {
    while (Class(*p_) & kSpace) {
      if (p_[1] == ' ' && p_[2] == ' ') {
        p_ = EndOfSpaces(p_ + 3, end_);
      } else {
        ++p_;
      }
    }
    switch (*p_) {
      case '#':
        SkipComment();
        if (token_.kind == TokenKind::kError) return;
        break;
      case '\r':
        if (p_[1] != '\n') return;
        ++p_;
        break;
      case '\n':
        if (nesting_ == 0 && !begin_line_) return;
        ++p_;
        ++line_;
        line_start_ = p_;
        break;
      case '\\':
        if (p_[1] != '\n') return;
        p_ += 2;
        ++line_;
        line_start_ = p_;
        break;
      default: return;
    }
  }
}

void Scanner::Next() {
  if (token_.kind == TokenKind::kError) [[unlikely]]
    return;
  // Most tokens follow the token before them directly or after one blank. Rare cases are in
  // functions of their own, so that this one needs no stack frame.
  if (*p_ == ' ') ++p_;
  if (Class(*p_) & kSkipped) {
    SkipSpace();
    if (token_.kind == TokenKind::kError) return;
  }
  const char* const p = p_;
  token_.begin = p;
  at_line_start_ = begin_line_;
  if (begin_line_) {
    indent_ = static_cast<int>(p - line_start_);
    begin_line_ = false;
  }
  const char c = *p;
  const uint8_t cls = Class(c);
  if (cls & kNameStart) {
    const char* const q = EndOfName(p + 1, end_);
    token_.kind = TokenKind::kName;
    token_.text = absl::string_view(p, static_cast<size_t>(q - p));
    p_ = q;
    if (*q == '"' || *q == '\'') [[unlikely]]
      Fail(p, "prefixed strings are not supported");
    if (token_.text.size() > kMaxNameBytes) [[unlikely]]
      Fail(p, "the name is too long");
    return;
  }
  if (cls & kSingle) {
    if (c == '(' || c == '[' || c == '{') {
      if (++nesting_ > kMaxNesting) [[unlikely]]
        return FailNesting();
    } else if (c == ')' || c == ']' || c == '}') {
      if (nesting_ == 0) [[unlikely]]
        return Fail(p, "a closing bracket without an opening one");
      --nesting_;
    }
    token_.kind = TokenKind::kPunct;
    token_.punct = static_cast<unsigned char>(c);
    token_.text = absl::string_view(p, 1);
    p_ = p + 1;
    return;
  }
  if (cls & kDigit || (c == '.' && Class(p[1]) & kDigit)) return ScanNumber();
  if (c == '"' || c == '\'') return ScanString(c);
  if (c == '\n') {
    // The newline is consumed only when the next token is scanned, so that this token keeps its
    // position.
    token_.kind = TokenKind::kNewline;
    begin_line_ = true;
    return;
  }
  if (p == end_) {
    token_.kind = TokenKind::kEnd;
    return;
  }
  ScanPunct();
}

const char* Scanner::TakeDottedNames() {
  const char* p = token_.begin;
  while (*p == '.' && Class(p[1]) & kNameStart) {
    const char* const end = EndOfName(p + 2, end_);
    if (static_cast<size_t>(end - p) > kMaxNameBytes || *end == '"' || *end == '\'') return nullptr;
    p = end;
  }
  if (p == token_.begin) return nullptr;
  p_ = p;
  Next();
  return p;
}

void Scanner::ContinueAt(const char* line, uint32_t lines) {
  if (Is(Punct("(")) || Is(Punct("[")) || Is(Punct("{"))) --nesting_;
  p_ = line_start_ = line;
  line_ += lines;
  begin_line_ = true;
  Next();
}

// Scans a float of so few digits that one division gives its exact value.
bool Scanner::ScanPlainFloat(const char* point, int64_t digits) {
  static constexpr double kPowers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  constexpr int64_t kExact = int64_t{1} << 53;
  const char* q = point + 1;
  for (; Class(*q) & kDigit; ++q) {
    if (digits >= kExact / 16 || q - point > 15) return false;
    digits = digits * 10 + (*q - '0');
  }
  const size_t decimals = static_cast<size_t>(q - point) - 1;
  if (decimals == 0 || Class(*q) & kNameRest) return false;
  token_.text = absl::string_view(p_, static_cast<size_t>(q - p_));
  token_.float_value = static_cast<double>(digits) / kPowers[decimals];
  token_.kind = TokenKind::kFloat;
  p_ = q;
  return true;
}

void Scanner::ScanNumber() {
  const char* q = p_;
  // Most numbers have only a few digits.
  int64_t small = 0;
  while (q - p_ < 18 && Class(*q) & kDigit) small = small * 10 + (*q++ - '0');
  if (!(Class(*q) & (kDigit | kNameRest)) && *q != '.' && (*p_ != '0' || q - p_ == 1)) {
    token_.text = absl::string_view(p_, static_cast<size_t>(q - p_));
    token_.int_value = small;
    token_.kind = TokenKind::kInt;
    p_ = q;
    return;
  }
  if (*q == '.' && q > p_ && ScanPlainFloat(q, small)) return;
  q = p_;
  if (*q == '0' && Class(q[1]) & kNameStart) {
    const char letter = static_cast<char>(q[1] | 0x20);
    const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
    if (base != 10) {
      q += 2;
      while (absl::ascii_isxdigit(static_cast<unsigned char>(*q)) || IsUnderscore(q)) ++q;
      return ScanInt(p_ + 2, q, base, /*underscores=*/true);
    }
  }
  bool is_float = false, underscores = false;
  SkipDigits(&q, &underscores);
  if (*q == '.') {
    is_float = true;
    ++q;
    SkipDigits(&q, &underscores);
  }
  if (*q == 'e' || *q == 'E') {
    const char* r = q + 1;
    if (*r == '+' || *r == '-') ++r;
    if (!(Class(*r) & kDigit)) return Fail(p_, "malformed number");
    SkipDigits(&r, &underscores);
    is_float = true;
    q = r;
  }
  const bool imaginary = *q == 'j' || *q == 'J';
  if (!is_float && !imaginary) return ScanInt(p_, q, 10, underscores);
  token_.text = NumberText(p_, q, underscores);
  const char* const end = token_.text.data() + token_.text.size();
  const auto [rest, error] = std::from_chars(token_.text.data(), end, token_.float_value);
  if (error == std::errc::result_out_of_range) {
    // Like Python, reads a number that is too large as inf and one that is too small as 0, which
    // strtod tells apart.
    token_.float_value = std::strtod(std::string(token_.text).c_str(), nullptr);
  } else if (error != std::errc() || rest != end) {
    return Fail(p_, "malformed number");
  }
  token_.kind = imaginary ? TokenKind::kImaginary : TokenKind::kFloat;
  p_ = imaginary ? q + 1 : q;
  if (Class(*p_) & kNameRest) Fail(token_.begin, "malformed number");
}

void Scanner::ScanInt(const char* begin, const char* end, int base, bool underscores) {
  token_.text = NumberText(begin, end, underscores);
  if (base == 10 && token_.text.size() > 1 && token_.text[0] == '0' &&
      token_.text.find_first_not_of('0') != absl::string_view::npos) {
    return Fail(p_, "a decimal number starts with 0");
  }
  uint64_t value = 0;
  const char* const last = token_.text.data() + token_.text.size();
  const auto [rest, error] = std::from_chars(token_.text.data(), last, value, base);
  if (error == std::errc::result_out_of_range || value > kMinInt)
    return Fail(p_, "the integer does not fit in 64 bits");
  if (error != std::errc() || rest != last) return Fail(p_, "malformed number");
  // 2^63 is an integer only after a minus sign. The parser checks that by `text`.
  if (value == kMinInt) token_.text = kMinIntText;
  token_.int_value = static_cast<int64_t>(value);
  token_.kind = TokenKind::kInt;
  p_ = end;
  if (Class(*p_) & kNameRest) Fail(token_.begin, "malformed number");
}

absl::string_view Scanner::NumberText(const char* begin, const char* end, bool underscores) {
  const absl::string_view text(begin, static_cast<size_t>(end - begin));
  if (!underscores) return text;
  return unescaped_.emplace_back(absl::StrReplaceAll(text, {{"_", ""}}));
}

absl::StatusOr<int64_t> Scanner::TakeInt(absl::string_view what, bool is_negative) {
  if (token_.kind != TokenKind::kInt) return Expected(what);
  const int64_t value = token_.int_value;
  if (value < 0 && !is_negative) return Error("the integer does not fit in 64 bits");
  Next();
  return is_negative && value > 0 ? -value : value;
}

absl::string_view Scanner::TakeStrings() {
  const absl::string_view first = token_.text;
  Next();
  if (token_.kind != TokenKind::kString) return first;
  std::string joined(first);
  for (; token_.kind == TokenKind::kString; Next()) absl::StrAppend(&joined, token_.text);
  return unescaped_.emplace_back(std::move(joined));
}

void Scanner::ScanString(char quote) {
  const char* q = p_ + 1;
  if (*q == quote && q[1] == quote) return Fail(p_, "triple-quoted strings are not supported");
  token_.kind = TokenKind::kString;
  const char* const start = q;
  q = EndOfPlainString(q, end_, quote);
  if (*q == quote) {
    token_.text = absl::string_view(start, static_cast<size_t>(q - start));
    p_ = q + 1;
    return;
  }
  ScanEscapedString(quote, q);
}

// Scans a string that has no escapes before `q`.
void Scanner::ScanEscapedString(char quote, const char* q) {
  const char* const start = p_ + 1;
  std::string value(start, q);
  while (true) {
    if (q >= end_ || *q == '\n') return Fail(p_, "the string does not end on its line");
    if (*q == quote) break;
    if (*q != '\\') {
      value.push_back(*q++);
      continue;
    }
    ++q;
    int digits = 0;
    switch (*q) {
      case 'n': value.push_back('\n'); break;
      case 't': value.push_back('\t'); break;
      case 'r': value.push_back('\r'); break;
      case '\\': value.push_back('\\'); break;
      case '\'': value.push_back('\''); break;
      case '"': value.push_back('"'); break;
      case '0': value.push_back('\0'); break;
      case 'x': digits = 2; break;
      case 'u': digits = 4; break;
      case 'U': digits = 8; break;
      default: return Fail(q - 1, "unknown escape in a string");
    }
    ++q;
    if (digits > 0) {
      uint32_t code = 0;
      if (end_ - q < digits) return Fail(p_, "the string does not end on its line");
      const auto [rest, error] = std::from_chars(q, q + digits, code, 16);
      const bool surrogate = code >= 0xD800 && code < 0xE000;
      if (error != std::errc() || rest != q + digits || code > 0x10FFFF || surrogate) {
        return Fail(q, "malformed escape in a string");
      }
      AppendUtf8(code, &value);
      q += digits;
    }
  }
  // Check the spelling, not the value: an escape may give a NUL.
  if (!IsPythonText({start, static_cast<size_t>(q - start)})) {
    return Fail(p_, "the string holds a NUL or is not UTF-8");
  }
  unescaped_.push_back(std::move(value));
  token_.text = unescaped_.back();
  p_ = q + 1;
}

void Scanner::ScanPunct() {
  token_.kind = TokenKind::kPunct;
  const char a = *p_;
  const char b = p_[1];
  size_t length = 1;
  switch (a) {
    case '.':
      if (b == '.' && p_[2] == '.') length = 3;
      break;
    case '*':
    case '/':
    case '<':
    case '>':
      if (b == a) {
        length = p_[2] == '=' ? 3 : 2;
      } else if (b == '=') {
        length = 2;
      }
      break;
    case '-':
      if (b == '=' || b == '>') length = 2;
      break;
    case '+':
    case '%':
    case '@':
    case '&':
    case '|':
    case '^':
    case '=':
      if (b == '=') length = 2;
      break;
    case '!':
      if (b != '=') return Fail(p_, "unexpected character '!'");
      length = 2;
      break;
    default:
      return Fail(p_,
                  absl::StrCat("unexpected character '", Printable(absl::string_view(p_, 1)), "'"));
  }
  token_.punct = 0;
  for (size_t i = 0; i < length; ++i) {
    token_.punct = token_.punct << 8 | static_cast<unsigned char>(p_[i]);
  }
  token_.text = absl::string_view(p_, length);
  p_ += length;
}

std::string Scanner::DescribeToken() const {
  switch (token_.kind) {
    case TokenKind::kEnd: return "the end of the file";
    case TokenKind::kNewline: return "the end of the line";
    case TokenKind::kString: return absl::StrCat("string '", Printable(token_.text, 40), "'");
    case TokenKind::kError: return error_;
    default: return absl::StrCat("'", Printable(token_.text, 40), "'");
  }
}

absl::Status Scanner::Error(absl::string_view message) const {
  if (token_.kind == TokenKind::kError) return ErrorAtOffset(token_.begin, error_);
  return ErrorAt(file_, line_, column(), message);
}

absl::Status Scanner::ErrorAtOffset(const char* where, absl::string_view message) const {
  const absl::string_view before = text_.substr(0, static_cast<size_t>(where - text_.data()));
  const size_t newline = before.rfind('\n');  // npos + 1 is 0
  return ErrorAt(file_, 1 + absl::c_count(before, '\n'), before.size() - newline, message);
}

absl::Status Scanner::Expected(absl::string_view what) {
  return Error(absl::StrCat("expected ", what, ", found ", DescribeToken()));
}

absl::Status Scanner::ExpectedPunct(uint32_t punct, absl::string_view where) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) {
    if (const char c = static_cast<char>(punct >> shift & 0xff); c != 0) text.push_back(c);
  }
  return Expected(absl::StrCat("'", text, "' ", where));
}

absl::Status Scanner::ExpectedNewline(absl::string_view where) {
  return Expected(absl::StrCat("the end of the line ", where));
}

}  // namespace graphnet

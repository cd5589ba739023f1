// Scanner yields the tokens of the Python subset that GraphNet files are written in.
//
// It is built for speed. The input is one NUL-terminated buffer, and tokens are views of it. Only
// the text of joined strings, strings with escapes, and numbers with underscores is allocated.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_SCANNER_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_SCANNER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"

namespace graphnet {

enum class TokenKind : uint8_t {
  kEnd,
  kNewline,  // end of a logical line
  kName,
  kInt,
  kFloat,
  kImaginary,  // 2j
  kString,
  kPunct,  // operator or delimiter; Token::punct
  kError,  // Scanner::error()
};

// Packs the characters of an operator, at most three as in "**=", in big-endian order:
// Punct("**") == '*' << 8 | '*'.
constexpr uint32_t Punct(const char* text) {
  uint32_t code = 0;
  for (; *text; ++text) code = code << 8 | static_cast<unsigned char>(*text);
  return code;
}

struct Token {
  TokenKind kind = TokenKind::kEnd;
  uint32_t punct = 0;
  // A name as written, a number without underscores and prefix, or the value of a string.
  absl::string_view text;
  const char* begin = nullptr;  // start of the token in the input
  int64_t int_value = 0;        // less than 0 for 2^63, which needs a minus sign before it
  double float_value = 0;
};

class Scanner {
 public:
  // `text` and `file_name` must outlive the scanner and its tokens.
  Scanner(const std::string& text, absl::string_view file_name);

  const Token& token() const { return token_; }
  void Next();

  bool Is(uint32_t punct) const {
    return token_.kind == TokenKind::kPunct && token_.punct == punct;
  }
  bool IsName(absl::string_view name) const {
    return token_.kind == TokenKind::kName && token_.text == name;
  }
  // True if a ",", ")" or "]", which ends an element in brackets, follows the current token
  // directly.
  bool EndsElement() const { return *p_ == ',' || *p_ == ')' || *p_ == ']'; }
  // Takes the current token if it is this punctuation mark.
  bool Accept(uint32_t punct) {
    if (!Is(punct)) return false;
    Next();
    return true;
  }
  bool AcceptName(absl::string_view name) {
    if (!IsName(name)) return false;
    Next();
    return true;
  }
  absl::Status Expect(uint32_t punct, absl::string_view where) {
    if (Accept(punct)) [[likely]]
      return absl::OkStatus();
    return ExpectedPunct(punct, where);
  }
  // Takes this name.
  absl::Status ExpectName(absl::string_view name, absl::string_view what) {
    return AcceptName(name) ? absl::OkStatus() : Expected(what);
  }
  // Takes any name.
  absl::StatusOr<absl::string_view> TakeName(absl::string_view what) {
    if (token_.kind != TokenKind::kName) return Expected(what);
    const absl::string_view name = token_.text;
    Next();
    return name;
  }
  // Takes an integer. `is_negative` says that a minus sign was before it.
  absl::StatusOr<int64_t> TakeInt(absl::string_view what, bool is_negative = false);
  // Takes elements up to `close`, and that mark. `take`, which returns a status, takes one element.
  template <typename Take>
  absl::Status TakeElements(uint32_t close, absl::string_view after, Take take) {
    while (!Is(close)) {
      RETURN_IF_ERROR(take());
      if (!Accept(Punct(","))) break;
    }
    return Expect(close, after);
  }
  // Takes a value, of which formatters put long ones in parentheses. `take` returns a status.
  template <typename Take>
  absl::Status TakeParenthesised(absl::string_view after, Take take) {
    int parentheses = 0;
    while (Accept(Punct("("))) ++parentheses;
    RETURN_IF_ERROR(take());
    for (; parentheses > 0; --parentheses) RETURN_IF_ERROR(Expect(Punct(")"), after));
    return absl::OkStatus();
  }
  // Takes a string, and the strings right after it, which Python joins.
  absl::StatusOr<absl::string_view> TakeText(absl::string_view what) {
    if (token_.kind != TokenKind::kString) return Expected(what);
    return TakeStrings();
  }
  // Takes the current token, a string, and the strings right after it, and joins them like Python.
  absl::string_view TakeStrings();
  // Takes names with dots before them and no blanks between, beginning at the current token, a dot.
  // Returns the end of the names. If anything about them is unusual, takes nothing and returns
  // null.
  const char* TakeDottedNames();
  // Jumps to `line`, the start of a line that is `lines` lines below the current token. If that
  // token opens a bracket, the bracket must be closed before `line`.
  void ContinueAt(const char* line, uint32_t lines);
  // Takes the end of a line; fails on anything else.
  absl::Status ExpectNewline(absl::string_view where) {
    if (token_.kind == TokenKind::kNewline) [[likely]] {
      Next();
    } else if (token_.kind != TokenKind::kEnd) {
      return ExpectedNewline(where);
    }
    return absl::OkStatus();
  }

  // Columns of white space before the first token of the current logical line.
  int indent() const { return indent_; }
  // True if the current token is the first of its logical line.
  bool at_line_start() const { return at_line_start_; }
  // Line of the current token, from 1.
  uint32_t line() const { return line_; }
  // The end of the current token.
  const char* token_end() const { return p_; }
  // The end of the input.
  const char* text_end() const { return end_; }
  // Column of the current token, from 1.
  uint32_t column() const { return static_cast<uint32_t>(token_.begin - line_start_) + 1; }

  // Return an error at the current token, "<file>:<line>:<column>: <message>". The message of
  // Expected is "expected <what>, found <token>". If the token could not be scanned, the error says
  // why instead.
  absl::Status Expected(absl::string_view what);
  absl::Status Error(absl::string_view message) const;
  // Returns an error at an earlier token. O(size of the input), since lines are counted again.
  absl::Status ErrorAtOffset(const char* where, absl::string_view message) const;
  std::string DescribeToken() const;

 private:
  bool ScanPlainFloat(const char* point, int64_t digits);
  void ScanNumber();
  void ScanInt(const char* begin, const char* end, int base, bool underscores);
  absl::string_view NumberText(const char* begin, const char* end, bool underscores);
  void ScanString(char quote);
  ABSL_ATTRIBUTE_NOINLINE void ScanEscapedString(char quote, const char* q);
  ABSL_ATTRIBUTE_NOINLINE void ScanPunct();
  void SkipSpace();
  ABSL_ATTRIBUTE_NOINLINE void SkipComment();
  ABSL_ATTRIBUTE_NOINLINE void Fail(const char* where, absl::string_view message);
  ABSL_ATTRIBUTE_NOINLINE void FailNesting();
  absl::Status ExpectedPunct(uint32_t punct, absl::string_view where);
  absl::Status ExpectedNewline(absl::string_view where);

  absl::string_view file_;
  absl::string_view text_;
  const char* p_;
  const char* end_;
  const char* line_start_;
  uint32_t line_ = 1;
  int nesting_ = 0;  // open brackets, inside which newlines are white space
  int indent_ = 0;
  bool at_line_start_ = true;
  bool has_coding_ = false;
  bool begin_line_ = true;  // the next token is the first of a logical line
  Token token_;
  std::string error_;
  std::deque<std::string> unescaped_;  // strings with escapes, numbers with underscores
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_SCANNER_H_

// Scanner: the tokens of the Python subset that GraphNet files are written in.
//
// Built for speed: the input is one NUL-terminated buffer, tokens are views of
// it, and nothing is allocated but the unescaped text of strings with escapes.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_SCANNER_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_SCANNER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

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

// One or two characters of an operator packed big-endian, "**=" and "//=" as
// three: Punct("**") == '*' << 8 | '*'.
constexpr uint32_t Punct(const char* text) {
  uint32_t code = 0;
  for (; *text; ++text) code = code << 8 | static_cast<unsigned char>(*text);
  return code;
}

struct Token {
  TokenKind kind = TokenKind::kEnd;
  uint32_t punct = 0;
  // Names: as written. Numbers: without underscores and prefix. Strings: the value.
  absl::string_view text;
  const char* begin = nullptr;  // where it starts in the input
  int64_t int_value = 0;
  double float_value = 0;
};

class Scanner {
 public:
  // `text` must be followed by a NUL (as std::string's is) and outlive the
  // scanner and its tokens.
  Scanner(const std::string& text, absl::string_view file_name);

  const Token& token() const { return token_; }
  void Next();

  bool Is(uint32_t punct) const {
    return token_.kind == TokenKind::kPunct && token_.punct == punct;
  }
  bool IsName(absl::string_view name) const {
    return token_.kind == TokenKind::kName && token_.text == name;
  }
  // Whether the current token ends where an element of brackets does: right before ",", ")" or "]".
  bool EndsElement() const { return *p_ == ',' || *p_ == ')' || *p_ == ']'; }
  // Takes the punctuation mark if it is next.
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
  // Takes the string that is next, and those that follow it directly, which Python joins.
  absl::string_view TakeStrings();
  // Takes the names, with dots between them and nothing else, that follow the dot that is next.
  // Returns where they end; null, and takes nothing, if anything about them is unusual.
  const char* TakeDottedNames();
  // Goes on at `line`, where a line begins `lines` lines behind the current token, which is passed
  // over: with the bracket that closes it, if it opens one.
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
  // Where the current token ends.
  const char* token_end() const { return p_; }
  // The end of the input.
  const char* text_end() const { return end_; }
  // Column of the current token, from 1.
  uint32_t column() const { return static_cast<uint32_t>(token_.begin - line_start_) + 1; }

  // An error at the current token: "<file>:<line>:<column>: expected <what>
  // <where>, found <token>"; at a token that does not scan, what is wrong with it.
  absl::Status Expected(absl::string_view what);
  absl::Status Error(absl::string_view message) const;
  // At a token seen before: its address, line and the start of the line are not
  // kept, so they are found again.
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
  int nesting_ = 0;  // open brackets: newlines inside them are white space
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

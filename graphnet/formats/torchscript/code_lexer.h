// Internal: splits the source code in a TorchScript archive into lines and tokens,
// as LibTorch's lexer does. Text on which the two could disagree, so that LibTorch
// would see code where this lexer sees a string or nothing, is refused: comments,
// line continuations, tabs, triple quotes, bytes outside ASCII. PyTorch's own
// writer uses none of these.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_CODE_LEXER_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_CODE_LEXER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace graphnet {

// A name, number, string or punctuation mark in the source.
struct CodeToken {
  enum Kind { kName, kNumber, kString, kPunctuation };
  Kind kind;
  absl::string_view text;  // points into the source; includes the quotes of a string

  bool Is(absl::string_view expected) const { return kind != kString && text == expected; }
  bool IsName() const { return kind == kName; }
};

// Reads a source text line by line.
class CodeLexer {
 public:
  // `text` must outlive this object.
  explicit CodeLexer(absl::string_view text) : text_(text) {}

  // Reads the next line that is not blank, to the end of the brackets that it
  // opens. Brackets must match and be at most kMaxNesting deep. Returns false at
  // the end of the text and after an error.
  bool Next();

  // The current line's tokens, at least one.
  absl::Span<const CodeToken> tokens() const { return tokens_; }
  size_t indent() const { return indent_; }  // in spaces

  // The offset and message of the error; nullopt if there was none.
  const std::optional<std::pair<size_t, std::string>>& error() const { return error_; }

 private:
  bool Fail(absl::string_view message);
  bool SkipBlankLines(size_t* line_start);
  bool ReadToken();
  bool ReadNumber();
  bool ReadString();
  bool ReadBracket();
  void SkipDigits();
  bool At(absl::string_view characters) const;

  const absl::string_view text_;
  size_t at_ = 0;
  size_t indent_ = 0;
  std::vector<CodeToken> tokens_;
  std::string open_;  // the brackets around at_
  std::optional<std::pair<size_t, std::string>> error_;
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_CODE_LEXER_H_

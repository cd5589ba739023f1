// Splits the source code in a TorchScript archive into lines and tokens, just as
// LibTorch's lexer does. Where the two could disagree, so that LibTorch would
// see code where we see a string or nothing, the text is refused: comments, line
// continuations, tabs, triple quotes, bytes outside ASCII. PyTorch's own writer
// uses none of these.
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

struct CodeToken {
  enum Kind { kName, kNumber, kString, kPunctuation };
  Kind kind;
  absl::string_view text;  // a part of the source; a string's has its quotes

  bool Is(absl::string_view expected) const { return kind != kString && text == expected; }
  bool IsName() const { return kind == kName; }
};

class CodeLexer {
 public:
  // `text` is borrowed.
  explicit CodeLexer(absl::string_view text) : text_(text) {}

  // Reads the next line that is not blank, to the end of the brackets that it
  // opens; these match and are at most kMaxNesting deep. False at the end of the
  // text and in an error.
  bool Next();

  // Of the line: at least one.
  absl::Span<const CodeToken> tokens() const { return tokens_; }
  size_t indent() const { return indent_; }  // spaces

  // Offset and message of the error, if there was one.
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

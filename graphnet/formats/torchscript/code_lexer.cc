#include "graphnet/formats/torchscript/code_lexer.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/base/utf8.h"

namespace graphnet {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameChar(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

bool CodeLexer::Fail(absl::string_view message) {
  error_.emplace(at_, message);
  return false;
}

// Returns whether the next character is one of these.
bool CodeLexer::At(absl::string_view characters) const {
  return at_ < text_.size() && absl::StrContains(characters, text_[at_]);
}

bool CodeLexer::Next() {
  tokens_.clear();
  open_.clear();
  size_t start = at_;
  if (!SkipBlankLines(&start)) return false;
  indent_ = at_ - start;
  while (at_ < text_.size()) {
    if (At("\n")) {
      if (open_.empty() || !SkipBlankLines(&start)) break;
    } else if (At(" ")) {
      ++at_;
    } else if (!ReadToken()) {
      return false;
    }
  }
  if (error_.has_value()) return false;
  if (!open_.empty()) return Fail("a bracket is not closed");
  return true;
}

// Skips line ends and the spaces that follow; returns false at the end of the text
// or after too many lines: LibTorch's lexer recurses over blank lines.
bool CodeLexer::SkipBlankLines(size_t* line_start) {
  for (int lines = 0;; ++lines) {
    while (At(" ")) ++at_;
    if (at_ == text_.size()) return false;
    if (!At("\n")) return true;
    if (lines > kMaxNesting) return Fail("too many blank lines");
    *line_start = ++at_;
  }
}

bool CodeLexer::ReadToken() {
  const size_t start = at_;
  CodeToken::Kind kind = CodeToken::kPunctuation;
  const char c = text_[at_];
  if (IsDigit(c)) {
    kind = CodeToken::kNumber;
    if (!ReadNumber()) return false;
  } else if (IsNameChar(c)) {
    kind = CodeToken::kName;
    while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
    if (at_ - start > kMaxNameBytes) return Fail("the name is too long");
  } else if (At("\"'")) {
    kind = CodeToken::kString;
    if (!ReadString()) return false;
  } else if (At("()[]{}")) {
    if (!ReadBracket()) return false;
  } else if (At(".,:=-+")) {
    at_ += absl::StartsWith(text_.substr(at_), "->") ? 2 : 1;
  } else {
    return Fail(
        absl::StrCat("'", Printable(text_.substr(at_, 1)), "' is not what PyTorch writes here"));
  }
  tokens_.push_back({kind, text_.substr(start, at_ - start)});
  return true;
}

void CodeLexer::SkipDigits() {
  while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
}

// Reads a number such as 1, 1., 1.5, 1e-05 or 1.5j.
bool CodeLexer::ReadNumber() {
  SkipDigits();
  if (At(".")) {
    ++at_;
    SkipDigits();
  }
  if (At("eE")) {
    ++at_;
    if (At("+-")) ++at_;
    if (!At("0123456789")) return Fail("not a number");
    SkipDigits();
  }
  if (At("j")) ++at_;
  if (At(".") || (at_ < text_.size() && IsNameChar(text_[at_]))) {
    return Fail("not a number");
  }
  return true;
}

bool CodeLexer::ReadString() {
  const char quote = text_[at_++];
  for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
    const bool is_escaped = text_[at_] == '\\';
    if (is_escaped && ++at_ == text_.size()) break;
    if (absl::ascii_isprint(static_cast<unsigned char>(text_[at_]))) continue;
    // PyTorch writes the names of attributes as they are.
    const size_t length = Utf8Length(text_.substr(at_));
    if (is_escaped || length < 2) {
      return Fail("a string has a byte that PyTorch would escape");
    }
    at_ += length - 1;
  }
  if (at_ == text_.size()) return Fail("a string is not closed");
  ++at_;
  // In LibTorch's lexer, three quotes begin a string that only three quotes end.
  if (At("\"'")) return Fail("a string is followed by a quote");
  return true;
}

bool CodeLexer::ReadBracket() {
  if (At("([{")) {
    if (open_.size() == static_cast<size_t>(kMaxNesting)) {
      return Fail(absl::StrCat("brackets are nested more than ", kMaxNesting, " deep"));
    }
    open_.push_back(text_[at_]);
  } else {
    const char opening = At(")") ? '(' : At("]") ? '[' : '{';
    if (open_.empty() || open_.back() != opening) {
      return Fail("a bracket has no partner");
    }
    open_.pop_back();
  }
  ++at_;
  return true;
}

}  // namespace graphnet

// Internal to the text form: walks over the bytes of a text and reads its words, names, strings
// and numbers.
//
// A reader returns false if it does not find the token that it expects. The first failure is kept
// with its place and becomes the status at the end. Functions named Try… and Peek… do not fail.
#ifndef GRAPHNET_IR_TEXT_SCANNER_H_
#define GRAPHNET_IR_TEXT_SCANNER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/text/literal.h"
#include "graphnet/ir/text/scratch.h"

namespace graphnet::text_internal {

class Scanner {
 public:
  // `text` and `scratch` must outlive the scanner. The strings that are read view one of the two.
  Scanner(absl::string_view text, Scratch* scratch)
      : begin_(text.data()), end_(begin_ + text.size()), p_(begin_), scratch_(*scratch) {}

  // --- Looking ---------------------------------------------------------------
  // Skips white space and comments, and returns the start of the next token.
  const char* Here() {
    SkipSpace();
    return p_;
  }
  bool AtEnd() { return Here() == end_; }
  // Returns the first byte of the next token; NUL at the end.
  char Peek() { return AtEnd() ? '\0' : *p_; }
  // Returns the next token if it is a word ([A-Za-z0-9_.]+), else an empty string.
  absl::string_view PeekWord() {
    const char* q = Here();
    while (q != end_ && literal_internal::Is(*q, literal_internal::kName)) ++q;
    return {p_, static_cast<size_t>(q - p_)};
  }
  // Returns whether `text` views the scanned text, and so lives as long as it.
  bool Owns(absl::string_view text) const {
    return std::less_equal<>()(begin_, text.data()) && std::less<>()(text.data(), end_);
  }
  // Returns the place where reading stopped, without skipping white space.
  const char* Position() const { return p_; }
  // Returns the next bytes if they look like the meta of a tensor, "f32[2, S0]@cuda:0". Returns
  // only a part of a meta that is written in an unusual way, and nothing of a very long one.
  absl::string_view PeekMetaText();
  // Continues at `p`, a place in the text.
  void MoveTo(const char* p) { p_ = p; }

  // --- Reading ---------------------------------------------------------------
  bool TryChar(char c) {
    if (Peek() != c || p_ == end_) return false;
    ++p_;
    return true;
  }
  bool TryWord(absl::string_view word) {
    const size_t left = static_cast<size_t>(end_ - Here());
    if (left < word.size() || *p_ != word[0] || absl::string_view(p_, word.size()) != word) {
      return false;
    }
    if (left > word.size() && literal_internal::Is(p_[word.size()], literal_internal::kName)) {
      return false;  // A longer word.
    }
    p_ += word.size();
    return true;
  }
  // Skips `text`, which consists of punctuation, if it comes next.
  bool TryText(absl::string_view text) {
    if (static_cast<size_t>(end_ - Here()) < text.size()) return false;
    if (absl::string_view(p_, text.size()) != text) return false;
    p_ += text.size();
    return true;
  }
  // Reads an integer in the common form, up to 18 digits without a sign.
  bool TryInteger(int64_t* out) {
    const char* q = Here();
    const char* const last = end_ - q > 18 ? q + 18 : end_;
    int64_t value = 0;
    while (q != last && literal_internal::Is(*q, literal_internal::kDigit)) {
      value = value * 10 + (*q++ - '0');
    }
    if (q == p_ || (q != end_ && literal_internal::Is(*q, literal_internal::kName))) return false;
    *out = value;
    p_ = q;
    return true;
  }
  bool Expect(char c) { return TryChar(c) || FailExpectedChar(c); }

  // Reads a bare or quoted name of at most kMaxNameBytes. Here and below, `what` describes the
  // token in messages.
  bool ReadName(absl::string_view what, absl::string_view* out);
  // Reads a name that is not empty.
  bool ReadNonemptyName(absl::string_view what, absl::string_view* out);
  // Reads a string in quotes.
  bool ReadString(absl::string_view what, absl::string_view* out);
  bool ReadInteger(absl::string_view what, int64_t* out) {
    return TryInteger(out) || ReadAnyInteger(what, out);
  }
  // Reads an integer from 0 to `max`.
  bool ReadCount(absl::string_view what, uint64_t max, uint64_t* out);
  // Reads an integer or a float, "inf" and "nan" included.
  bool ReadNumber(absl::string_view what, Argument* out);
  // Reads such a number as a float.
  bool ReadFloat(absl::string_view what, double* out);

  // --- Failing: all return false ---------------------------------------------
  // Fails with "expected <what>, found <the next token>".
  bool Fail(absl::string_view what);
  bool FailAt(const char* where, std::string message);
  bool failed() const { return error_ != nullptr; }
  // Returns the first failure, with an excerpt; OK if nothing failed.
  absl::Status status(absl::string_view file) const;

 private:
  void SkipSpace() {
    // There is mostly one blank or none.
    if (p_ != end_ && *p_ == ' ') ++p_;
    if (p_ != end_ && (literal_internal::Is(*p_, literal_internal::kSpace) || *p_ == '#')) {
      SkipMoreSpace();
    }
  }
  void SkipMoreSpace();
  bool ReadAnyInteger(absl::string_view what, int64_t* out);
  bool FailExpectedChar(char c);
  // Returns a description of the next token for a message.
  std::string Found();
  bool ReadNan(double* out);
  bool Unescape(const char* begin, const char* end, absl::string_view* out);

  const char* const begin_;
  const char* const end_;
  const char* p_;
  Scratch& scratch_;
  const char* error_ = nullptr;
  std::string message_;
};

}  // namespace graphnet::text_internal

#endif  // GRAPHNET_IR_TEXT_SCANNER_H_

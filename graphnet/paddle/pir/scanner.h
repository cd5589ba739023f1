// Internal to the reader of PIR: characters, words and positions of the text. Functions that read
// return false if they failed, and status() has the first failure.
#ifndef GRAPHNET_PADDLE_PIR_SCANNER_H_
#define GRAPHNET_PADDLE_PIR_SCANNER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace graphnet::pir {

class Scanner {
 public:
  Scanner(absl::string_view text, absl::string_view file_name)
      : text_(text), file_name_(file_name) {}

  const absl::Status& status() const { return status_; }
  // Records a failure at `where`, unless there was one before, and returns false.
  bool Fail(const char* where, absl::string_view message);
  bool Fail(absl::string_view message) { return Fail(at(), message); }
  bool FailExpected(absl::string_view what);

  // Skips blanks and line ends.
  void Skip();
  // Returns the start of the next token.
  const char* at() {
    Skip();
    return text_.data() + pos_;
  }
  absl::string_view rest() {
    Skip();
    return text_.substr(pos_);
  }
  bool AtEnd() { return rest().empty(); }
  bool Peek(absl::string_view token);
  // Consumes `token` if it is next, and returns whether it did.
  bool Take(absl::string_view token);
  bool Expect(absl::string_view token);

  // Consumes a word, [A-Za-z_][A-Za-z0-9_.]*; empty if none is next.
  absl::string_view TakeWord();
  // Reads the name of a value with its sign: %12, %arg_0.
  bool ReadValue(absl::string_view* value);
  // Reads a string in double quotes, which it drops, and replaces its escapes.
  bool ReadString(std::string* out);
  bool ReadInt(int64_t* value);
  // Reads a number; also inf, -inf and nan. `*is_int` is true if it has neither point nor exponent
  // and fits an int64_t.
  bool ReadNumber(double* value, int64_t* integer, bool* is_int);
  // Reads up to the next comma, or up to the bracket that closes the enclosing list.
  bool ReadRaw(absl::string_view* out);

 private:
  absl::string_view text_;
  absl::string_view file_name_;
  size_t pos_ = 0;
  absl::Status status_;
};

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_SCANNER_H_

// Internal to the reader of PIR: characters, words and positions of the text. Those that return
// false have failed; the first failure is the one that counts.
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
  // False, with a message about `where`.
  bool Fail(const char* where, absl::string_view message);
  bool Fail(absl::string_view message) { return Fail(at(), message); }
  bool FailExpected(absl::string_view what);

  // Blanks and line ends.
  void Skip();
  // Where the next token starts.
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
  // Takes it if it is there.
  bool Take(absl::string_view token);
  bool Expect(absl::string_view token);

  // [A-Za-z_][A-Za-z0-9_.]*; empty if none is next.
  absl::string_view TakeWord();
  // %12, %arg_0: with the sign.
  bool ReadValue(absl::string_view* value);
  // In double quotes, without them, and with its escapes undone.
  bool ReadString(std::string* out);
  bool ReadInt(int64_t* value);
  // Also inf, -inf and nan; `*is_int` if it is written without a point and exponent and fits.
  bool ReadNumber(double* value, int64_t* integer, bool* is_int);
  // Up to the next comma, or the bracket that closes what is around it.
  bool ReadRaw(absl::string_view* out);

 private:
  absl::string_view text_;
  absl::string_view file_name_;
  size_t pos_ = 0;
  absl::Status status_;
};

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_SCANNER_H_

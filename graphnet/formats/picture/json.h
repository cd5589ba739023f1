// JSON as it is written here: compact, and harmless between <script> tags.
#ifndef GRAPHNET_FORMATS_PICTURE_JSON_H_
#define GRAPHNET_FORMATS_PICTURE_JSON_H_

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/picture/style.h"

namespace graphnet {

// Puts the commas. `Open('[').Number(1).Text("a").Close(']')` is [1,"a"].
class Json {
 public:
  Json& Open(char bracket) {
    Separate();
    out_ += bracket;
    first_ = true;
    return *this;
  }
  Json& Close(char bracket) {
    out_ += bracket;
    first_ = false;
    return *this;
  }
  Json& Key(absl::string_view key) {
    Separate();
    absl::StrAppend(&out_, JsonText(key), ":");
    first_ = true;
    return *this;
  }
  Json& Text(absl::string_view text) {
    Separate();
    out_ += JsonText(text);
    return *this;
  }
  template <typename T>
  Json& Number(T value) {
    Separate();
    absl::StrAppend(&out_, value);
    return *this;
  }
  std::string Take() { return std::move(out_); }

 private:
  void Separate() {
    if (!first_) out_ += ',';
    first_ = false;
  }

  std::string out_;
  bool first_ = true;
};

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_PICTURE_JSON_H_

// Escapes arbitrary text for pages and pictures.
#ifndef GRAPHNET_BASE_MARKUP_H_
#define GRAPHNET_BASE_MARKUP_H_

#include <cmath>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// Escapes UTF-8 text for the content of an element or a quoted attribute. Characters that XML does
// not allow become "?".
std::string XmlText(absl::string_view text);
// Returns `text` as a JSON string in quotes, which is safe between <script> tags, too.
std::string JsonText(absl::string_view text);

// Writes compact JSON that is safe between <script> tags, and adds the commas:
// `Open('[').Number(1).Text("a").Close(']')` is [1,"a"].
class JsonWriter {
 public:
  JsonWriter& Open(char bracket) {
    Separate();
    out_ += bracket;
    first_ = true;
    return *this;
  }
  JsonWriter& Close(char bracket) {
    out_ += bracket;
    first_ = false;
    return *this;
  }
  JsonWriter& Key(absl::string_view key) {
    Separate();
    absl::StrAppend(&out_, JsonText(key), ":");
    first_ = true;
    return *this;
  }
  JsonWriter& Text(absl::string_view text) {
    Separate();
    out_ += JsonText(text);
    return *this;
  }
  template <typename T>
  JsonWriter& Number(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) return Null();  // JSON cannot express it otherwise.
    }
    Separate();
    absl::StrAppend(&out_, value);
    return *this;
  }
  JsonWriter& Null() {
    Separate();
    out_ += "null";
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

#endif  // GRAPHNET_BASE_MARKUP_H_

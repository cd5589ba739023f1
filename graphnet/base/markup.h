// Text for pages and pictures: what is in it can be anything and stays text.
#ifndef GRAPHNET_BASE_MARKUP_H_
#define GRAPHNET_BASE_MARKUP_H_

#include <cmath>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// `text`, UTF-8, for the content of an element or a quoted attribute. What XML does not
// allow becomes "?".
std::string XmlText(absl::string_view text);
// Quoted; also between <script> tags.
std::string JsonText(absl::string_view text);

// Writes JSON that is compact, and harmless between <script> tags; puts the commas.
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
      if (!std::isfinite(value)) return Null();  // JSON has no other word for it.
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

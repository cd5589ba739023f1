// JSON to build and print.
#ifndef GRAPHNET_BASE_JSON_H_
#define GRAPHNET_BASE_JSON_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// A JSON value to build and print. nlohmann::json does the printing, but what includes this does not
// have to compile its 25,000 lines.
class Json {
 public:
  Json() = default;  // null
  template <std::same_as<bool> T>
  Json(T value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Json(T value) : value_(static_cast<int64_t>(value)) {}  // NOLINT(google-explicit-constructor)
  Json(double value) : value_(value) {}                   // NOLINT(google-explicit-constructor)
  Json(std::nullptr_t) = delete;                          // Write Json() for null.
  Json(const char* text) : value_(std::string(text)) {}   // NOLINT(google-explicit-constructor)
  Json(std::string text) : value_(std::move(text)) {}     // NOLINT(google-explicit-constructor)
  Json(absl::string_view text) : value_(std::string(text)) {}  // NOLINT
  explicit Json(std::vector<Json> list) : value_(std::move(list)) {}
  static Json List() { return Json(std::vector<Json>()); }
  template <typename T>
  static Json List(const T& elements) {
    return Json(std::vector<Json>(elements.begin(), elements.end()));
  }
  static Json Object() {
    Json object;
    object.value_.emplace<Members>();
    return object;
  }

  // Parses JSON text, which must be valid: one of our libraries wrote it.
  static Json Parse(const std::string& text);

  // Returns the member of that name, which is added if it is new. Null becomes an object.
  Json& operator[](absl::string_view name);
  // Adds the members of another object.
  void Merge(Json object);
  // Appends an element. Null becomes a list.
  void push_back(Json element);

  // Returns the text of a string; null for any other value.
  const std::string* text() const { return std::get_if<std::string>(&value_); }
  // Returns the document. Bytes that are not UTF-8 are replaced; numbers that JSON lacks become null. A
  // negative `indent` puts everything on one line.
  std::string Dump(int indent = 2) const;

 private:
  friend struct JsonForm;
  struct Members {
    std::vector<std::pair<std::string, Json>> all;
    absl::flat_hash_map<std::string, size_t> places;  // index by name, kept only if there are many
  };

  std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<Json>, Members>
      value_;
};

}  // namespace graphnet

#endif  // GRAPHNET_BASE_JSON_H_

// JSON to build, print and read.
#ifndef GRAPHNET_BASE_JSON_H_
#define GRAPHNET_BASE_JSON_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/limits.h"

namespace graphnet {

// A JSON value. nlohmann::json parses and prints, but what includes this does not have to compile its
// 25,000 lines.
//
//   ASSIGN_OR_RETURN(const Json json, Json::ParseObject(R"({"sizes": [1, 2]})", "a.json"));
//   const auto sizes = json.Get<std::vector<int64_t>>("sizes");  // nullopt if it has another type
class Json {
 public:
  using Member = std::pair<std::string, Json>;

  Json() = default;  // null
  template <std::same_as<bool> T>
  Json(T value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Json(T value) {  // NOLINT(google-explicit-constructor)
    if (std::in_range<int64_t>(value)) {
      value_ = static_cast<int64_t>(value);
    } else {
      value_ = static_cast<uint64_t>(value);
    }
  }
  Json(double value) : value_(value) {}                  // NOLINT(google-explicit-constructor)
  Json(std::nullptr_t) = delete;                         // Write Json() for null.
  Json(const char* text) : value_(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  Json(std::string text) : value_(std::move(text)) {}    // NOLINT(google-explicit-constructor)
  Json(absl::string_view text) : value_(std::string(text)) {}  // NOLINT
  explicit Json(std::vector<Json> list) : value_(std::move(list)) {}
  // A list of what has been a range.
  template <std::ranges::range T>
    requires(!std::convertible_to<T, absl::string_view>)
  Json(const T& elements)  // NOLINT(google-explicit-constructor)
      : value_(std::vector<Json>(elements.begin(), elements.end())) {}
  static Json List() { return Json(std::vector<Json>()); }
  template <typename T>
  static Json List(const T& elements) {
    return elements;
  }
  static Json List(std::initializer_list<Json> elements) {
    return Json(std::vector<Json>(elements));
  }
  // Returns the number with six digits, which are enough for a picture.
  static Json Rounded(double number);
  // Returns an object with these members, whose names differ.
  static Json Object(std::initializer_list<std::pair<absl::string_view, Json>> members = {});

  // Parses a text that is an object. InvalidArgument with `file`, line and column if it is not, or nests
  // more than `max_depth` deep. The last of equal names counts, unless `refuses_doubles`.
  static absl::StatusOr<Json> ParseObject(absl::string_view text, absl::string_view file,
                                          int max_depth = kMaxJsonDepth,
                                          bool refuses_doubles = false);
  // Parses a text. Returns null if it is not JSON, or nests too deep.
  static Json Parse(absl::string_view text);

  // Returns the member of that name, which is added if it is new. Null becomes an object.
  Json& operator[](absl::string_view name);
  // Adds the members of another object.
  void Merge(Json object);
  // Appends an element. Null becomes a list.
  void push_back(Json element);

  // Returns the text of a string; null for any other value.
  const std::string* text() const { return std::get_if<std::string>(&value_); }
  bool is_list() const { return std::holds_alternative<std::vector<Json>>(value_); }
  bool is_object() const { return std::holds_alternative<Members>(value_); }
  // Returns "null", "boolean", "number", "string", "array" or "object".
  absl::string_view type_name() const;
  // Return what a list or an object has; nothing for any other value.
  const std::vector<Json>& elements() const;
  const std::vector<Member>& members() const;
  // Returns the member of that name; null if this is not an object that has one.
  const Json* Find(absl::string_view name) const;

  // Returns the value if it is of that type, which may be a std::vector. An integer must be written as
  // one, and fit.
  template <typename T>
  std::optional<T> To() const {
    if constexpr (std::ranges::range<T> && !std::same_as<T, std::string>) {
      if (!is_list()) return std::nullopt;
      T list;
      for (const Json& element : elements()) {
        auto value = element.To<typename T::value_type>();
        if (!value) return std::nullopt;
        list.push_back(*std::move(value));
      }
      return list;
    } else {
      return std::visit([](const auto& held) { return Converted<T>(held); }, value_);
    }
  }
  // Returns the member of that name, if there is one of that type.
  template <typename T>
  std::optional<T> Get(absl::string_view name) const {
    const Json* const member = Find(name);
    return member == nullptr ? std::nullopt : member->To<T>();
  }

  // Returns the document. Bytes that are not UTF-8 are replaced; numbers that JSON lacks become null. A
  // negative `indent` puts everything on one line. If it `is_ascii`, other letters are escaped.
  std::string Dump(int indent = 2, bool is_ascii = false) const;
  // Returns an object with a member on each line, `indent` columns from the left. A list of objects has
  // one on each line, which is `row_indent` columns from the left.
  std::string DumpRows(int indent, int row_indent) const;
  // Returns one line that is safe between <script> tags, too.
  std::string DumpForScript() const;

 private:
  friend struct JsonForm;
  friend class JsonBuilder;
  struct Members {
    std::vector<Member> all;
    absl::flat_hash_map<std::string, size_t> places;  // index by name, kept only if there are many
  };

  template <typename T, typename Held>
  static std::optional<T> Converted(const Held& held) {
    constexpr bool is_number = std::integral<Held> && !std::same_as<Held, bool>;
    if constexpr (std::same_as<T, Held>) {
      return held;
    } else if constexpr (std::same_as<T, double> && is_number) {
      return static_cast<double>(held);
    } else if constexpr (std::integral<T> && !std::same_as<T, bool> && is_number) {
      if (std::in_range<T>(held)) return static_cast<T>(held);
    }
    return std::nullopt;
  }

  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, std::vector<Json>,
               Members>
      value_;
};

}  // namespace graphnet

#endif  // GRAPHNET_BASE_JSON_H_

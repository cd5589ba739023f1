// Parses the JSON of torch.export's archives into one array of tokens, which callers walk as a
// tree. The text is not trusted: it must be UTF-8, nest no deeper than kMaxJsonDepth, and hold
// exactly one document. Time and memory are linear in its length.
//
//   ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(text));
//   Json name, inputs;
//   RETURN_IF_ERROR(ReadFields(document.root(), {{"name", &name}, {"inputs", &inputs}}));
//   for (const Json input : inputs.elements()) …
#ifndef GRAPHNET_FORMATS_PT2_JSON_H_
#define GRAPHNET_FORMATS_PT2_JSON_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet::pt2 {

// A value of a JsonDocument; the document must outlive it.
class Json {
 public:
  // Kinds of values; kInt holds numbers that fit int64_t.
  enum class Kind : uint8_t { kNull, kBool, kInt, kDouble, kString, kArray, kObject };

  // Makes a value that is absent.
  Json() = default;

  // True unless the value is absent.
  bool is_there() const { return token_ != nullptr; }
  // True for null and for an absent value: the schema uses both for an unset field.
  bool is_null() const { return token_ == nullptr || token_->kind == Kind::kNull; }
  // True if both are the same value of the same document.
  bool IsSameAs(const Json& other) const { return token_ == other.token_; }
  // The kind of the value, which must not be absent.
  Kind kind() const { return token_->kind; }
  bool is_string() const { return is_there() && kind() == Kind::kString; }

  // Each returns the value, or InvalidArgument, "expected an integer, found a string", if the value
  // has another kind.
  absl::StatusOr<bool> Bool() const;
  absl::StatusOr<int64_t> Int() const;
  // Takes a number, or a string for one that JSON cannot write: "NaN", "Infinity", "-Infinity".
  absl::StatusOr<double> Float() const;
  absl::StatusOr<absl::string_view> String() const;
  absl::Status ExpectArray() const;
  absl::Status ExpectObject() const;

  // The number of values in an array or object; a key and its value count as two.
  size_t size() const { return token_->size; }

  // The elements of an array, or alternating keys and values of an object; else an empty range.
  struct Range;
  Range elements() const;
  // Calls fn(absl::string_view key, Json value), which returns a status, on the members of
  // an object in order.
  template <typename Fn>
  absl::Status ForEachMember(Fn&& fn) const {
    absl::Status status = ExpectObject();
    const Json end = status.ok() ? next() : Json();
    for (Json key = status.ok() ? Json(token_ + 1) : Json(); key.token_ != end.token_;) {
      const Json value = key.next();
      status = fn(key.text(), value);
      if (!status.ok()) return status;
      key = value.next();
    }
    return status;
  }

 private:
  friend class JsonDocument;
  friend class JsonHandler;
  friend struct Range;
  struct Token {
    Kind kind = Kind::kNull;
    uint32_t size = 0;  // bytes of a string, elements of an array or object
    union {
      bool boolean;
      int64_t integer;
      double real;
      const char* chars;
      uint64_t tokens;  // tokens of an array or object, its own included
    } u = {.integer = 0};
  };

  explicit Json(const Token* token) : token_(token) {}
  absl::Status Expected(absl::string_view what) const;
  absl::string_view text() const { return {token_->u.chars, token_->size}; }
  Json next() const { return Json(token_ + (kind() < Kind::kArray ? 1 : token_->u.tokens)); }

  const Token* token_ = nullptr;
};

// The values in an array or object, for range-based loops.
struct Json::Range {
  class Iterator {
   public:
    explicit Iterator(const Json& value) : value_(value) {}
    Json operator*() const { return value_; }
    Iterator& operator++() {
      value_ = value_.next();
      return *this;
    }
    friend bool operator!=(const Iterator& a, const Iterator& b) {
      return !a.value_.IsSameAs(b.value_);
    }

   private:
    Json value_;
  };
  Iterator first, last;
  Iterator begin() const { return first; }
  Iterator end() const { return last; }
};

inline Json::Range Json::elements() const {
  if (is_null() || kind() < Kind::kArray) return {Range::Iterator({}), Range::Iterator({})};
  return {Range::Iterator(Json(token_ + 1)), Range::Iterator(next())};
}

// A parsed document, which owns its text.
class JsonDocument {
 public:
  // Parses `text`. InvalidArgument, "byte 12: …", says what is wrong and where.
  static absl::StatusOr<JsonDocument> Parse(std::string text);
  JsonDocument(JsonDocument&&) = default;
  JsonDocument& operator=(JsonDocument&&) = default;

  Json root() const { return Json(tokens_.data()); }

 private:
  JsonDocument() = default;

  std::vector<char> text_;  // strings are decoded in place
  std::vector<Json::Token> tokens_;
};

// A field to find, and where to put its value.
struct JsonField {
  absl::string_view name;
  Json* value;
  bool is_required = true;
};

// Finds the fields of an object. Unknown fields are ignored because newer writers add some.
// InvalidArgument if a required field is missing or a name occurs twice.
absl::Status ReadFields(Json object, std::initializer_list<JsonField> fields);

// An object with exactly one member, as the schema writes its unions.
struct JsonUnion {
  absl::string_view kind;
  Json value;
};
// Reads a union. InvalidArgument for any other value.
absl::StatusOr<JsonUnion> ReadUnion(Json object);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_JSON_H_

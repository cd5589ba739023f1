// JSON as the archives of torch.export have it, read whole and once into an array of
// tokens that are then walked as a tree. The text is trusted in nothing: UTF-8, nesting up
// to kMaxJsonDepth, one document and nothing behind it. Time and memory are linear in it.
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

// A value of a JsonDocument, which must outlive it.
class Json {
 public:
  enum class Kind : uint8_t { kNull, kBool, kInt, kDouble, kString, kArray, kObject };

  // A value that is not there.
  Json() = default;

  bool is_there() const { return token_ != nullptr; }
  // Also when it is not there: fields of the schema may be either.
  bool is_null() const { return token_ == nullptr || token_->kind == Kind::kNull; }
  // Whether both are one value of one document.
  bool IsSameAs(const Json& other) const { return token_ == other.token_; }
  // Of a value that is there.
  Kind kind() const { return token_->kind; }
  bool is_string() const { return is_there() && kind() == Kind::kString; }

  // InvalidArgument, "expected an integer, found a string", for values of other kinds.
  absl::StatusOr<bool> Bool() const;
  absl::StatusOr<int64_t> Int() const;
  // A number, or the text that stands for one which JSON lacks: "NaN", "Infinity", "-Infinity".
  absl::StatusOr<double> Float() const;
  absl::StatusOr<absl::string_view> String() const;
  absl::Status ExpectArray() const;
  absl::Status ExpectObject() const;

  // Of an array or object: values; keys and values count as two.
  size_t size() const { return token_->size; }

  // Of an array, or, alternating, the keys and values of an object; none of others.
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
    uint32_t size = 0;  // of a string its bytes; of an array or object its elements
    union {
      bool boolean;
      int64_t integer;
      double real;
      const char* chars;
      uint64_t tokens;  // of an array or object: itself and all it holds
    } u = {.integer = 0};
  };

  explicit Json(const Token* token) : token_(token) {}
  absl::Status Expected(absl::string_view what) const;
  absl::string_view text() const { return {token_->u.chars, token_->size}; }
  Json next() const { return Json(token_ + (kind() < Kind::kArray ? 1 : token_->u.tokens)); }

  const Token* token_ = nullptr;
};

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

class JsonDocument {
 public:
  // InvalidArgument, "byte 12: …", says what is wrong and where.
  static absl::StatusOr<JsonDocument> Parse(std::string text);
  JsonDocument(JsonDocument&&) = default;
  JsonDocument& operator=(JsonDocument&&) = default;

  Json root() const { return Json(tokens_.data()); }

 private:
  JsonDocument() = default;

  std::vector<char> text_;  // in which strings are decoded
  std::vector<Json::Token> tokens_;
};

struct JsonField {
  absl::string_view name;
  Json* value;
  bool is_required = true;
};

// Finds the fields of an object; others are passed over, as newer writers add some.
// InvalidArgument for one that is missing and for two of one name.
absl::Status ReadFields(Json object, std::initializer_list<JsonField> fields);

// An object with exactly one member, as the schema writes its unions.
struct JsonUnion {
  absl::string_view kind;
  Json value;
};
absl::StatusOr<JsonUnion> ReadUnion(Json object);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_JSON_H_

#include "graphnet/formats/pt2/json.h"

#include <limits>
#include <utility>

// Whitespace is skipped sixteen bytes at a time where the compiler's target can.
#ifdef __SSE2__
#define RAPIDJSON_SSE2
#endif
#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/base/utf8.h"
#include "rapidjson/error/en.h"
#include "rapidjson/reader.h"

namespace graphnet::pt2 {
namespace {

// Reading a block at a time reads past the end, so the text is padded.
constexpr size_t kPadding = 64;

constexpr absl::string_view kKindNames[] = {"null",     "a bool",   "an integer", "a number",
                                            "a string", "an array", "an object"};

}  // namespace

// Takes the events of RapidJSON's reader.
class JsonHandler {
 public:
  explicit JsonHandler(std::vector<Json::Token>* tokens) : tokens_(*tokens) {}

  const std::string& error() const { return error_; }

  bool Null() { return Add(Json::Kind::kNull) != nullptr; }
  bool Bool(bool value) {
    Add(Json::Kind::kBool)->u.boolean = value;
    return true;
  }
  bool Int(int value) { return Int64(value); }
  bool Uint(unsigned value) { return Int64(value); }
  bool Int64(int64_t value) {
    Add(Json::Kind::kInt)->u.integer = value;
    return true;
  }
  bool Uint64(uint64_t value) {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Fail("an integer beyond 64 bits");
    }
    return Int64(static_cast<int64_t>(value));
  }
  // NaN and Infinity come as Python writes them; the reader refuses numbers that are too large.
  bool Double(double value) {
    Add(Json::Kind::kDouble)->u.real = value;
    return true;
  }
  bool RawNumber(const char*, rapidjson::SizeType, bool) { return Fail("a number"); }
  bool String(const char* chars, rapidjson::SizeType size, bool) {
    Json::Token* const token = Add(Json::Kind::kString);
    token->size = size;
    token->u.chars = chars;
    return true;
  }
  bool Key(const char* chars, rapidjson::SizeType size, bool copy) {
    return String(chars, size, copy);
  }
  bool StartObject() { return Start(Json::Kind::kObject); }
  bool StartArray() { return Start(Json::Kind::kArray); }
  bool EndObject(rapidjson::SizeType members) { return End(2 * members); }
  bool EndArray(rapidjson::SizeType elements) { return End(elements); }

 private:
  Json::Token* Add(Json::Kind kind) {
    Json::Token& token = tokens_.emplace_back();
    token.kind = kind;
    return &token;
  }
  // The reader recurses, so deeper nesting is refused.
  bool Start(Json::Kind kind) {
    if (open_.size() >= static_cast<size_t>(kMaxJsonDepth)) {
      return Fail(absl::StrCat("nests deeper than ", kMaxJsonDepth));
    }
    open_.push_back(tokens_.size());
    Add(kind);
    return true;
  }
  bool End(uint32_t size) {
    Json::Token& token = tokens_[open_.back()];
    token.size = size;
    token.u.tokens = tokens_.size() - open_.back();
    open_.pop_back();
    return true;
  }
  bool Fail(std::string what) {
    error_ = std::move(what);
    return false;
  }

  std::vector<Json::Token>& tokens_;
  std::vector<size_t> open_;
  std::string error_;
};

absl::StatusOr<JsonDocument> JsonDocument::Parse(std::string text) {
  const size_t size = text.size();
  for (size_t i = 0; i < size;) {
    const size_t n =
        static_cast<signed char>(text[i]) >= 0 ? 1 : Utf8Length(absl::string_view(text).substr(i));
    if (n == 0) return absl::InvalidArgumentError(absl::StrCat("byte ", i, ": not UTF-8"));
    i += n;
  }
  JsonDocument document;
  document.text_.resize(size + kPadding);
  text.copy(document.text_.data(), size);
  text = std::string();
  document.tokens_.reserve(size / 12);
  JsonHandler handler(&document.tokens_);
  rapidjson::Reader reader;
  rapidjson::InsituStringStream stream(document.text_.data());
  const rapidjson::ParseResult result =
      reader.Parse<rapidjson::kParseInsituFlag | rapidjson::kParseFullPrecisionFlag |
                   rapidjson::kParseStopWhenDoneFlag | rapidjson::kParseNanAndInfFlag>(stream,
                                                                                       handler);
  if (result.IsError()) {
    const std::string what =
        handler.error().empty() ? rapidjson::GetParseError_En(result.Code()) : handler.error();
    return absl::InvalidArgumentError(absl::StrCat("byte ", result.Offset(), ": ", what));
  }
  rapidjson::SkipWhitespace(stream);
  if (stream.Tell() < size) {
    return absl::InvalidArgumentError(
        absl::StrCat("byte ", stream.Tell(), ": unexpected text after the document"));
  }
  return document;
}

absl::Status Json::Expected(absl::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", what, ", found ",
                   is_there() ? kKindNames[static_cast<size_t>(kind())] : "nothing"));
}

absl::StatusOr<bool> Json::Bool() const {
  if (!is_there() || kind() != Kind::kBool) return Expected("a bool");
  return token_->u.boolean;
}

absl::StatusOr<int64_t> Json::Int() const {
  if (!is_there() || kind() != Kind::kInt) return Expected("an integer");
  return token_->u.integer;
}

absl::StatusOr<double> Json::Float() const {
  if (is_there() && kind() == Kind::kDouble) return token_->u.real;
  if (is_there() && kind() == Kind::kInt) return static_cast<double>(token_->u.integer);
  if (is_string()) {
    if (text() == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text() == "Infinity") return std::numeric_limits<double>::infinity();
    if (text() == "-Infinity") return -std::numeric_limits<double>::infinity();
  }
  return Expected("a number");
}

absl::StatusOr<absl::string_view> Json::String() const {
  if (!is_string()) return Expected("a string");
  return text();
}

absl::Status Json::ExpectArray() const {
  return is_there() && kind() == Kind::kArray ? absl::OkStatus() : Expected("an array");
}

absl::Status Json::ExpectObject() const {
  return is_there() && kind() == Kind::kObject ? absl::OkStatus() : Expected("an object");
}

absl::Status ReadFields(Json object, std::initializer_list<JsonField> fields) {
  // Fields mostly come in one order, so try the next expected one first.
  const JsonField* expected = fields.begin();
  std::vector<absl::string_view> others;
  for (const JsonField& field : fields) *field.value = Json();
  RETURN_IF_ERROR(object.ForEachMember([&](absl::string_view key, Json value) {
    const JsonField* found = expected;
    if (found == fields.end() || found->name != key) {
      for (found = fields.begin(); found != fields.end() && found->name != key;) ++found;
    }
    bool is_first = true;
    if (found != fields.end()) {
      is_first = !found->value->is_there();
      *found->value = value;
      expected = found + 1;
    } else {
      for (const absl::string_view other : others) is_first = is_first && other != key;
      if (others.size() >= 64) return absl::InvalidArgumentError("has too many unknown fields");
      others.push_back(key);
    }
    if (is_first) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("two fields are named ", Printable(key)));
  }));
  for (const JsonField& field : fields) {
    if (field.is_required && !field.value->is_there()) {
      return absl::InvalidArgumentError(absl::StrCat("lacks the field ", field.name));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<JsonUnion> ReadUnion(Json object) {
  RETURN_IF_ERROR(object.ExpectObject());
  JsonUnion made;
  if (object.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected one member, found ", object.size() / 2));
  }
  RETURN_IF_ERROR(object.ForEachMember([&](absl::string_view key, Json value) {
    made = {key, value};
    return absl::OkStatus();
  }));
  return made;
}

}  // namespace graphnet::pt2

#include "graphnet/paddle/pir/attribute_reader.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/limits.h"
#include "graphnet/paddle/pir/spelling.h"

namespace graphnet::pir {

Argument AttributeReader::WithType(absl::string_view type, absl::string_view known_type,
                                   const Argument& value) {
  if (TypeOfAttribute(value, known_type) == type) return value;
  return module_.CopyArgument(Argument::Tuple({module_.InternString(type), value}));
}

bool AttributeReader::ReadNumber(absl::string_view type, absl::string_view known_type,
                                 Argument* out) {
  double real = 0;
  int64_t integer = 0;
  bool is_int = false;
  const char* where = in_.at();
  if (!in_.ReadNumber(&real, &integer, &is_int)) return false;
  const absl::string_view wanted = type.empty() ? known_type : type;
  if (IsIntType(wanted) && !is_int) return in_.Fail(where, "expected an integer of 64 bits");
  const bool is_whole = is_int && !IsFloatType(wanted);
  const Argument value = is_whole ? Argument(integer) : Argument(real);
  *out = type.empty() ? value : WithType(type, known_type, value);
  return true;
}

bool AttributeReader::ReadList(absl::string_view type, int depth, Argument* out) {
  if (depth > kMaxNesting / 2) return in_.Fail("lists nest too deep");
  std::vector<Argument> elements;
  if (!in_.Expect("[")) return false;
  while (!in_.Take("]")) {
    if (!elements.empty() && !in_.Expect(",")) return false;
    Argument& element = elements.emplace_back();
    if (type == "IntArray") {
      int64_t value = 0;
      if (!in_.ReadInt(&value)) return false;
      element = value;
    } else if (!Read(ElementType(type), depth + 1, &element)) {
      return false;
    }
  }
  *out = module_.CopyArgument(Argument::List(elements));
  return true;
}

bool AttributeReader::ReadTyped(absl::string_view known_type, int depth, Argument* out) {
  // Reads "(Float)0.5", or a value of unknown type in brackets.
  const absl::string_view rest = in_.rest();
  const size_t end = rest.find(')');
  const absl::string_view inner =
      end == absl::string_view::npos ? "" : absl::StripAsciiWhitespace(rest.substr(1, end - 1));
  const bool is_type =
      !inner.empty() && absl::ascii_isalpha(static_cast<unsigned char>(inner[0])) &&
      absl::c_all_of(inner, [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
      });
  if (!is_type) {
    absl::string_view raw;
    if (!in_.ReadRaw(&raw)) return false;
    *out = module_.CopyArgument(Argument::Tuple({Argument(""), Argument(raw)}));
    return true;
  }
  in_.Take("(");
  in_.TakeWord();
  if (!in_.Expect(")")) return false;
  absl::string_view type = inner;
  const bool is_paddles = absl::ConsumePrefix(&type, "pd_op.");
  if (!is_paddles && (IsIntType(type) || IsFloatType(type))) {
    return ReadNumber(type, known_type, out);
  }
  if (is_paddles && type == "IntArray") {
    Argument list;
    if (!ReadList(type, depth, &list)) return false;
    *out = WithType(type, known_type, list);
    return true;
  }
  absl::string_view raw;
  const char* where = in_.at();
  if (!in_.ReadRaw(&raw)) return false;
  if (is_paddles && IsWordType(type)) {
    if (const std::optional<DType> dtype = ParseDType(raw);
        type == "DataType" && dtype.has_value() && DTypeName(*dtype) == raw) {
      *out = *dtype;
      return true;
    }
    if (!IsPlainWord(raw)) return in_.Fail(where, "expected a word");
    *out = WithType(type, known_type, module_.CopyArgument(Argument(raw)));
    return true;
  }
  // The type is unknown, so keep the text.
  *out = module_.CopyArgument(Argument::Tuple({Argument(inner), Argument(raw)}));
  return true;
}

bool AttributeReader::Read(absl::string_view known_type, int depth, Argument* out) {
  if (in_.Peek("[")) return ReadList(known_type, depth, out);
  if (in_.Peek("(")) return ReadTyped(known_type, depth, out);
  if (in_.Peek("\"")) {
    std::string text;
    if (!in_.ReadString(&text)) return false;
    *out = WithType("", known_type, module_.CopyArgument(Argument(text)));
    if (out->is_tuple())
      *out = module_.CopyArgument(Argument::Tuple({Argument("Str"), Argument(text)}));
    return true;
  }
  if (in_.Take("<#AttrNull>")) {
    *out = Argument::None();
    return true;
  }
  const char first = in_.AtEnd() ? '\0' : *in_.at();
  if (absl::ascii_isdigit(static_cast<unsigned char>(first)) || first == '-') {
    return ReadNumber("", known_type, out);
  }
  absl::string_view raw;
  if (!in_.ReadRaw(&raw)) return false;
  if (raw == "true" || raw == "false") {
    *out = raw == "true";
    return true;
  }
  if ((raw == "inf" || raw == "nan") && !IsWordType(known_type)) {
    *out = raw == "inf" ? HUGE_VAL : std::nan("");
    return true;
  }
  // Paddle 3.3 writes words without types.
  if (const std::optional<DType> dtype = ParseDType(raw);
      dtype.has_value() && DTypeName(*dtype) == raw && *dtype != DType::kUnknown) {
    *out = *dtype;
    return true;
  }
  if (IsWordType(known_type) && IsPlainWord(raw)) {
    *out = module_.CopyArgument(Argument(raw));
    return true;
  }
  *out = module_.CopyArgument(Argument::Tuple({Argument(""), Argument(raw)}));
  return true;
}

}  // namespace graphnet::pir

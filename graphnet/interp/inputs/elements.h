// Values of inputs that are not tensors. The elements of a list or tuple are called "input.0",
// "input.1", those of a dict "input.key". A string is the u8 tensor of its bytes.
//
// "input." is a text that says what these do not. If the keys of a dict are not in the order of
// their names, it has them in order, with a zero byte after each. Otherwise it is the kind of a
// value, such as "int" or "Dict": of one whose declared type has members of several kinds, of None
// in a structure, and of an empty structure in another.
#ifndef GRAPHNET_INTERP_INPUTS_ELEMENTS_H_
#define GRAPHNET_INTERP_INPUTS_ELEMENTS_H_

#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Returns the elements of `input` in `values`, and their elements in turn, in the order of names.
inline auto ElementsOf(const std::map<std::string, TensorData>& values, absl::string_view input) {
  // '/' comes right after '.'.
  return std::ranges::subrange(values.lower_bound(absl::StrCat(input, ".")),
                               values.lower_bound(absl::StrCat(input, "/")));
}

// Returns "int" for "Optional[int]" and for "int".
inline absl::string_view InnerAnnotation(absl::string_view annotation) {
  if (absl::ConsumePrefix(&annotation, "Optional[")) absl::ConsumeSuffix(&annotation, "]");
  return annotation;
}

inline bool IsText(absl::string_view annotation) { return InnerAnnotation(annotation) == "str"; }

// Splits at commas outside brackets; returns nullopt if brackets do not match.
inline std::optional<std::vector<absl::string_view>> SplitOutsideBrackets(absl::string_view text) {
  std::vector<absl::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' || text[i] == '[' || text[i] == '{' ? 1 : 0;
    depth -= text[i] == ')' || text[i] == ']' || text[i] == '}' ? 1 : 0;
    if (depth < 0) return std::nullopt;
    if (text[i] != ',' || depth > 0) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  if (depth != 0) return std::nullopt;
  if (!text.empty()) parts.push_back(text.substr(begin));
  return parts;
}

// Returns the types in the brackets of a type: "float" and "int" of "Union[float, int]".
inline std::vector<absl::string_view> MembersOf(absl::string_view type) {
  const size_t open = type.find('[');
  if (open == absl::string_view::npos || !absl::ConsumeSuffix(&type, "]")) return {};
  std::vector<absl::string_view> members =
      SplitOutsideBrackets(type.substr(open + 1)).value_or(std::vector<absl::string_view>());
  for (absl::string_view& member : members) member = absl::StripAsciiWhitespace(member);
  return members;
}

inline bool IsUnion(absl::string_view annotation) { return absl::StartsWith(annotation, "Union["); }

// Returns whether an input may be None.
inline bool TakesNone(absl::string_view annotation) {
  if (absl::StartsWith(annotation, "Optional[")) return true;
  if (!IsUnion(annotation)) return false;
  for (const absl::string_view member : MembersOf(annotation)) {
    if (member == "NoneType" || member == "None" || TakesNone(member)) return true;
  }
  return false;
}

// Returns whether an input may be of a kind that its value decides, or is a number or device that
// no draw spec can hold.
inline bool TakesSeveralKinds(absl::string_view annotation) {
  const absl::string_view type = InnerAnnotation(annotation);
  return type == "complex" || type == "Device" || type == "number" || type == "Scalar" ||
         type == "Any" || IsUnion(type);
}

inline TensorData TextData(absl::string_view text) {
  return {DType::kUInt8,
          {static_cast<int64_t>(text.size())},
          std::make_shared<const std::string>(text)};
}

// Adds the kind of `input` to `values`, unless the order of its keys says it.
inline void AddKind(absl::string_view input, absl::string_view kind,
                    std::map<std::string, TensorData>* values) {
  values->try_emplace(absl::StrCat(input, "."), TextData(kind));
}

// Returns the kind that AddKind added; empty if there is none.
inline absl::string_view KindOf(const std::string& input,
                                const std::map<std::string, TensorData>& values) {
  const auto it = values.find(input + ".");
  if (it == values.end() || it->second.dtype != DType::kUInt8) return "";
  const absl::string_view text = *it->second.bytes;
  return absl::StrContains(text, absl::string_view("\0", 1)) ? "Dict" : text;
}

// Adds the order of a dict's keys to its elements in `values`.
inline void AddKeyOrder(absl::string_view input, const std::vector<std::string>& keys,
                        std::map<std::string, TensorData>* values) {
  const auto follow = [](const std::string& a, const std::string& b) {
    return a < b && absl::StrCat(a, ".") < absl::StrCat(b, ".");
  };
  bool in_order = true;
  for (size_t i = 1; i < keys.size(); ++i) in_order &= follow(keys[i - 1], keys[i]);
  if (in_order) return;
  std::string text;
  for (const std::string& key : keys) absl::StrAppend(&text, key, absl::string_view("\0", 1));
  (*values)[absl::StrCat(input, ".")] = TextData(text);
}

// Returns the keys that AddKeyOrder added; empty if there are none.
inline std::vector<std::string> KeyOrder(absl::string_view input,
                                         const std::map<std::string, TensorData>& values) {
  const auto it = values.find(absl::StrCat(input, "."));
  if (it == values.end() || it->second.dtype != DType::kUInt8) return {};
  std::vector<std::string> keys = absl::StrSplit(absl::string_view(*it->second.bytes), '\0');
  if (!keys.empty()) keys.pop_back();
  return keys;
}

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_INPUTS_ELEMENTS_H_

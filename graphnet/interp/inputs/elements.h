// Values of inputs that are not tensors. The elements of a list or tuple are called "input.0",
// "input.1", those of a dict "input.key". A string is the u8 tensor of its bytes. If the keys of a
// dict are not in the order of their names, "input." is a text that has them in order, with a
// zero byte after each.
#ifndef GRAPHNET_INTERP_INPUTS_ELEMENTS_H_
#define GRAPHNET_INTERP_INPUTS_ELEMENTS_H_

#include <map>
#include <memory>
#include <ranges>
#include <string>
#include <vector>

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

// Returns whether a type in brackets, such as "Union[float, int]", has a member of that name.
inline bool HasMember(absl::string_view type, absl::string_view name) {
  const size_t open = type.find('[');
  if (open == absl::string_view::npos) return false;
  absl::string_view members = type.substr(open + 1);
  absl::ConsumeSuffix(&members, "]");
  for (absl::string_view member : absl::StrSplit(members, ", ")) {
    if (member == name) return true;
  }
  return false;
}

// Returns whether an input may be a number, text or device, of a kind that its value decides. The
// dtype of a value says what it is.
inline bool TakesSeveralKinds(absl::string_view annotation) {
  const absl::string_view type = InnerAnnotation(annotation);
  return type == "complex" || type == "Device" || type == "number" || type == "Scalar" ||
         type == "Any" || (absl::StartsWith(type, "Union[") && !HasMember(type, "Tensor"));
}

inline TensorData TextData(absl::string_view text) {
  return {DType::kUInt8,
          {static_cast<int64_t>(text.size())},
          std::make_shared<const std::string>(text)};
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

// Values of inputs that are not tensors. The elements of a list or tuple are called "input.0",
// "input.1", those of a dict "input.key". A string is the u8 tensor of its bytes.
#ifndef GRAPHNET_INTERP_INPUTS_ELEMENTS_H_
#define GRAPHNET_INTERP_INPUTS_ELEMENTS_H_

#include <map>
#include <memory>
#include <ranges>
#include <string>

#include "absl/strings/str_cat.h"
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

inline TensorData TextData(absl::string_view text) {
  return {DType::kUInt8,
          {static_cast<int64_t>(text.size())},
          std::make_shared<const std::string>(text)};
}

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_INPUTS_ELEMENTS_H_

// Values of inputs that hold others: "input.0", "input.1" of a list or tuple, "input.key" of
// a dict.
#ifndef GRAPHNET_INPUTS_ELEMENTS_H_
#define GRAPHNET_INPUTS_ELEMENTS_H_

#include <map>
#include <ranges>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Those of `values` that `input` holds, and what they hold in turn; in the order of names.
inline auto ElementsOf(const std::map<std::string, TensorData>& values, absl::string_view input) {
  // '/' comes right after '.'.
  return std::ranges::subrange(values.lower_bound(absl::StrCat(input, ".")),
                               values.lower_bound(absl::StrCat(input, "/")));
}

}  // namespace graphnet

#endif  // GRAPHNET_INPUTS_ELEMENTS_H_

// What operators compute of one element, or of the elements that are reduced to one.
#ifndef GRAPHNET_PADDLE_PIR_FORMULAS_H_
#define GRAPHNET_PADDLE_PIR_FORMULAS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/ir/graph.h"

namespace graphnet::pir {

struct Formula {
  absl::string_view name;  // of the operator
  // In the terms of C: $0, $1 are elements of the operands, @bias is an attribute, $v is what was
  // reduced so far. Functions are those of C's math.h besides select, min, max, sigmoid, rsqrt,
  // sign, mod and floordiv, as Python has them, and cast, to the dtype of the result.
  absl::string_view text;
  bool is_reduction = false;
  absl::string_view start = "";   // of a reduction: what it begins with
  absl::string_view finish = "";  // what becomes of its result; $n: of how many elements
};

// Null if the operator has none, or not with these attributes.
const Formula* FormulaOf(const Node& node);

// Of a reduction: the dimensions of operand 0 that it is over; none if that is not written.
std::optional<std::vector<bool>> ReducedDims(const Node& node);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_FORMULAS_H_

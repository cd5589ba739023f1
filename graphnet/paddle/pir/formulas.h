// Formulas of operators: the computation of one element, or of elements that are reduced to one.
#ifndef GRAPHNET_PADDLE_PIR_FORMULAS_H_
#define GRAPHNET_PADDLE_PIR_FORMULAS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/ir/graph.h"

namespace graphnet::pir {

struct Formula {
  absl::string_view name;  // name of the operator
  // An expression in C: $0, $1 are elements of the operands, @bias is an attribute, $v is the
  // intermediate result of a reduction. Functions are those of C's math.h; select, min, max,
  // sigmoid, rsqrt, sign, and mod and floordiv as in Python; and cast, to the dtype of the result.
  absl::string_view text;
  bool is_reduction = false;
  absl::string_view start = "";   // initial value of a reduction
  absl::string_view finish = "";  // final step of a reduction; $n is the number of elements
};

// Returns nullptr if the operator has no formula, or none for these attributes.
const Formula* FormulaOf(const Node& node);

// Returns, for each dimension of operand 0, whether a reduction runs over it; nullopt if the graph
// does not say so.
std::optional<std::vector<bool>> ReducedDims(const Node& node);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_FORMULAS_H_

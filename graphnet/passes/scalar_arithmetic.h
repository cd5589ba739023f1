// Python's arithmetic on numbers.
#ifndef GRAPHNET_PASSES_SCALAR_ARITHMETIC_H_
#define GRAPHNET_PASSES_SCALAR_ARITHMETIC_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/argument.h"

namespace graphnet {

// Returns the value of "operator.add", "builtins.max", "math.floor", "torch.sym_max", … on
// constants, as CPython computes it; also operator.getitem, builtins.len and builtins.sum of a
// tuple or list. nullopt if the function is unknown, Python raises an error (division by zero),
// or the result does not fit an int64; with `exact`, also if the result depends on the C library. A
// result may point into `args`.
std::optional<Argument> EvaluateScalar(absl::string_view target, absl::Span<const Argument> args,
                                       bool exact = true);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_SCALAR_ARITHMETIC_H_

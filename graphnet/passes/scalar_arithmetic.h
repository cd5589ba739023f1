// What Python computes of numbers.
#ifndef GRAPHNET_PASSES_SCALAR_ARITHMETIC_H_
#define GRAPHNET_PASSES_SCALAR_ARITHMETIC_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/argument.h"

namespace graphnet {

// The value of "operator.add", "builtins.max", "math.floor", "torch.sym_max", … on
// constants, as CPython has it; operator.getitem of a tuple or list and
// builtins.len too. nullopt when it is unknown, an error in Python (division by
// zero), or does not fit an int64. A result may point into `args`.
std::optional<Argument> EvaluateScalar(absl::string_view target, absl::Span<const Argument> args);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_SCALAR_ARITHMETIC_H_

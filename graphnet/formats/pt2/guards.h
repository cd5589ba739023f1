// Evaluates conditions on a program's inputs. torch.export writes Python expressions such as
//
//   (2*L['x'].size()[0]) % L['y'].size()[1] == 0
#ifndef GRAPHNET_FORMATS_PT2_GUARDS_H_
#define GRAPHNET_FORMATS_PT2_GUARDS_H_

#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/python_numbers.h"

namespace graphnet::pt2 {

// Returns the value of a name with all its subscripts, attributes and calls, such as
// "L['x'].size()[0]" or "s0"; nullopt if it has none.
using ResolveName = absl::FunctionRef<std::optional<python::Number>(absl::string_view name)>;

// Returns the value of an expression of numbers, comparisons, and, or, not, and a few functions of
// Python and SymPy. Returns nullopt for any other expression, for a name without a value, and where
// Python would raise. Runs no Python code.
std::optional<python::Number> EvaluateGuard(absl::string_view text, ResolveName resolve);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_GUARDS_H_

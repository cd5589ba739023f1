// Conditions on a program's inputs, as torch.export writes them: Python expressions such as
//
//   (2*L['x'].size()[0]) % L['y'].size()[1] == 0
#ifndef GRAPHNET_FORMATS_PT2_GUARDS_H_
#define GRAPHNET_FORMATS_PT2_GUARDS_H_

#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/python_numbers.h"

namespace graphnet::pt2 {

// What a name stands for, with all subscripts, attributes and calls behind it:
// "L['x'].size()[0]", "s0".
using ResolveName = absl::FunctionRef<std::optional<python::Number>(absl::string_view name)>;

// The value of an expression of numbers, comparisons, and, or, not, and a few functions of
// Python and SymPy; nullopt where it has something else, a name without a value, or Python
// would raise. Nothing is executed.
std::optional<python::Number> EvaluateGuard(absl::string_view text, ResolveName resolve);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_GUARDS_H_

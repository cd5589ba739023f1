// The meaning of a call, whatever its spelling: torch.add(x, y), x.add(y), x + y, y.__radd__(x),
// x.add_(y), x += y and aten.add.Tensor(x, y) are all calls of "add".
#ifndef GRAPHNET_PASSES_CALL_MEANING_H_
#define GRAPHNET_PASSES_CALL_MEANING_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/ir/node.h"
#include "graphnet/ops/parameter_names.h"

namespace graphnet {

struct CallMeaning {
  absl::string_view name;     // "add"; lives as long as the text that was asked about
  bool is_in_place = false;   // writes to its first operand, as .add_ and operator.iadd do
  bool is_reflected = false;  // has its first two operands in the other order, as torch.rsub does
};

// Returns the last part of a target, without the overload of ATen: "relu" for "torch.relu",
// "torch.ops.aten.relu.default" and the method relu.
absl::string_view LastPart(absl::string_view target);

// Returns the meaning of a target by the table of callables, of Python's operators, and of ATen's
// second names (facts/shapes/results.txt). A target that no table has means its last part.
CallMeaning MeaningOf(Op op, absl::string_view target);
// Returns the meaning of a name that stands alone: "add", "add_", "truediv", "rsub", "__add__".
CallMeaning MeaningOfName(absl::string_view name);

// Returns the parameters of a call that may be passed by position; of one of Python's operators,
// those of the operator of ATen that it calls.
std::vector<PositionalParameter> ParametersOf(const Node& call);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_CALL_MEANING_H_

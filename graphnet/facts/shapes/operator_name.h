// Internal: the name of an operator, including TorchScript's own operators.
#ifndef GRAPHNET_FACTS_SHAPES_OPERATOR_NAME_H_
#define GRAPHNET_FACTS_SHAPES_OPERATOR_NAME_H_

#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/node.h"
#include "graphnet/ops/callable.h"

namespace graphnet {

// Returns BareName(call); for TorchScript's own operators, which no table has, the middle part of
// the target: "Int" for aten.Int.Tensor.
inline absl::string_view OperatorName(const Node& call) {
  if (CalleeOf(call).kind != Callable::Kind::kForeign) return BareName(call);
  const std::vector<absl::string_view> parts = absl::StrSplit(call.target(), '.');
  return parts.size() == 3 ? parts[1] : BareName(call);
}

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_OPERATOR_NAME_H_

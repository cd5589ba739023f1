// Internal: the name of an operator, of TorchScript's own too.
#ifndef GRAPHNET_FACTS_SHAPES_OPERATOR_NAME_H_
#define GRAPHNET_FACTS_SHAPES_OPERATOR_NAME_H_

#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/node.h"
#include "graphnet/ops/callable.h"

namespace graphnet {

// As BareName has it, and "Int" of aten.Int.Tensor, which no table has.
inline absl::string_view OperatorName(const Node& call) {
  if (CalleeOf(call).kind != Callable::Kind::kForeign) return BareName(call);
  const std::vector<absl::string_view> parts = absl::StrSplit(call.target(), '.');
  return parts.size() == 3 ? parts[1] : BareName(call);
}

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_OPERATOR_NAME_H_

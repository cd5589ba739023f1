// Internal to the validator: E3, whether the operators of the pieces are those of
// the original.
#ifndef GRAPHNET_VALIDATE_OPERATORS_H_
#define GRAPHNET_VALIDATE_OPERATORS_H_

#include <vector>

#include "absl/types/span.h"
#include "graphnet/ir/graph.h"
#include "graphnet/validate/findings.h"

namespace graphnet::validate_internal {

// An operator and the piece it is in.
struct PieceOperator {
  const Node* node = nullptr;
  int piece = 0;
};

std::vector<const Node*> OperatorsOf(const Graph& graph);

void CheckOperators(absl::Span<const Node* const> original, absl::Span<const PieceOperator> pieces,
                    Findings* findings);

}  // namespace graphnet::validate_internal

#endif  // GRAPHNET_VALIDATE_OPERATORS_H_

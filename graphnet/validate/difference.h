// Internal to the validator: E8, in which piece and node it is that the composed
// graph differs from the original.
#ifndef GRAPHNET_VALIDATE_DIFFERENCE_H_
#define GRAPHNET_VALIDATE_DIFFERENCE_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graphnet/ir/sample.h"
#include "graphnet/validate/findings.h"
#include "graphnet/validate/operators.h"

namespace graphnet::validate_internal {

// Adds one finding for `difference`, what the comparison of the two graphs said;
// there is one. The operators are as many on both sides.
void ReportDifference(const Sample& original, absl::Span<const Sample> pieces,
                      absl::Span<const Node* const> original_operators,
                      absl::Span<const PieceOperator> piece_operators,
                      const absl::Status& difference, Findings* findings);

}  // namespace graphnet::validate_internal

#endif  // GRAPHNET_VALIDATE_DIFFERENCE_H_

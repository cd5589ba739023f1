// Internal to the validator: the parts of ValidateStructure that walk all operators.
#ifndef GRAPHNET_VALIDATE_STRUCTURE_CHECKS_H_
#define GRAPHNET_VALIDATE_STRUCTURE_CHECKS_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/validate/report.h"

namespace graphnet::validate_internal {

// An operator and the piece it is in.
struct PieceOperator {
  const Node* node = nullptr;
  int piece = 0;
};

// Whether an original does not say how that input is drawn, so that somebody may have said it
// when it was cut.
inline bool IsSaidLater(const Node& input) {
  return input.draw_spec() == nullptr || *input.draw_spec() == DrawSpec();
}

std::vector<const Node*> OperatorsOf(const Graph& graph);

// E3 (operators.cc): whether the operators of the pieces are those of the original: of the same
// targets or, with `by_meaning`, of the same MeaningOf.
void CheckOperators(absl::Span<const Node* const> original, absl::Span<const PieceOperator> pieces,
                    bool by_meaning, ValidationReport* report);

// E8 (composition.cc): whether the pieces, put together by their ports, are the original.
// Walks the pieces along the original without building the graph that they make up:
// each operator, the output, bodies, and the tables of the modules. One finding for each
// node that differs. The operators are as many on both sides, and ports agree. With `by_meaning`
// calls are equal that mean the same, which the report then says.
// `inputs`: the placeholders of the original by name.
void CheckComposition(const Sample& original,
                      const absl::flat_hash_map<absl::string_view, const Node*>& inputs,
                      absl::Span<const Sample> pieces, Style style, const EqualityOptions& equality,
                      bool by_meaning, ValidationReport* report);

}  // namespace graphnet::validate_internal

#endif  // GRAPHNET_VALIDATE_STRUCTURE_CHECKS_H_

// Internal to the validator: the parts of ValidateStructure that visit all operators.
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

// An operator and the piece that it is in.
struct PieceOperator {
  const Node* node = nullptr;
  int piece = 0;
};

// True if the draw spec of an input may be another one in the pieces: the original has none, so that
// one may have been added when it was cut, or the input is no tensor and has a default value, in
// whose place another value may have been given.
inline bool IsSaidLater(const Node& input) {
  const DrawSpec* const spec = input.draw_spec();
  return spec == nullptr || *spec == DrawSpec() ||
         (input.meta() == nullptr && !spec->data.is_none());
}

// Returns the operators of a graph in order.
std::vector<const Node*> OperatorsOf(const Graph& graph);

// E3 (operators.cc): checks that the pieces have the original's operators, by target or, with
// `by_meaning`, by MeaningOf.
void CheckOperators(absl::Span<const Node* const> original, absl::Span<const PieceOperator> pieces,
                    bool by_meaning, ValidationReport* report);

// E8 (composition.cc): checks that the pieces, put together by their ports, are the original. Walks
// the pieces along the original without building the graph that they make up: each operator, the
// output, bodies, and the tables of the modules. There is one finding for each node that differs.
// The operators must be as many on both sides, and ports must agree. With `by_meaning`, calls that
// mean the same are equal, and the report mentions them. `inputs` are the placeholders of the
// original by name.
void CheckComposition(const Sample& original,
                      const absl::flat_hash_map<absl::string_view, const Node*>& inputs,
                      absl::Span<const Sample> pieces, Style style, const EqualityOptions& equality,
                      bool by_meaning, ValidationReport* report);

}  // namespace graphnet::validate_internal

#endif  // GRAPHNET_VALIDATE_STRUCTURE_CHECKS_H_

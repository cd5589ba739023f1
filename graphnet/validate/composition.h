// Internal to the validator: E8, whether the pieces, put together by their ports, are
// the original.
#ifndef GRAPHNET_VALIDATE_COMPOSITION_H_
#define GRAPHNET_VALIDATE_COMPOSITION_H_

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/ir/sample.h"
#include "graphnet/text/equality.h"
#include "graphnet/validate/findings.h"

namespace graphnet::validate_internal {

// Walks the pieces along the original without building the graph that they make up:
// each operator, the output, bodies, and the tables of the modules. One finding for each
// node that differs. The operators are as many on both sides, and ports agree.
// `inputs`: the placeholders of the original by name.
void CheckComposition(const Sample& original,
                      const absl::flat_hash_map<absl::string_view, const Node*>& inputs,
                      absl::Span<const Sample> pieces, Style style, const EqualityOptions& equality,
                      Findings* findings);

}  // namespace graphnet::validate_internal

#endif  // GRAPHNET_VALIDATE_COMPOSITION_H_

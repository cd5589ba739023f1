// Checks, without running anything, that pieces are the whole: that they can be put
// together, and that this gives the original back.
//
//   const ValidationReport report = ValidateStructure(original, pieces, {.cut = config.cut});
//   if (!report.ok()) std::cerr << report.status().message() << "\n";
//   std::cout << report.Counts() << "\n";  // original=10 pieces=3+3+4=10
#ifndef GRAPHNET_VALIDATE_STRUCTURE_H_
#define GRAPHNET_VALIDATE_STRUCTURE_H_

#include "absl/types/span.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/validate/report.h"

namespace graphnet {

struct StructureOptions {
  // How equal the composed graph has to be to the original.
  EqualityOptions equality = kExact;
  // How the pieces were cut, which says how they take values from each other.
  CutOptions cut;
  // Pieces of another tool: only what `equality` names of attribute_names counts of
  // names, metas and locations; metas must not contradict each other in shape or dtype;
  // inputs of the graph come in any order, those that nobody uses need not.
  bool foreign = false;
  // Compare the weights of attributes.
  bool weights = true;
  // What is known of values by name, where `original` is a form of it that has lost metas;
  // null: what `original` says.
  const Graph* known = nullptr;
};

// The checks, one after the other; those of one line go on after a finding, and
// E8 is left out when there are findings already.
//
// E1: there are pieces, and each, like the original, verifies. If not, that is
//     all that is reported.
// E2: where pieces have a provenance, all have one, of the original and its
//     CanonicalHash, and their ranges follow each other from 0 to its end, each as
//     long as the piece has operators.
// E3: the pieces have as many operators as the original, in total, of each target
//     and in the same order. A surplus or missing one is named with the piece
//     that has it or lacks it.
// E4: in a chain, the first piece takes what the original takes, the others what
//     the one before returns: number, names, metas; in a DAG, each value that a
//     piece takes is returned by one before it, or taken by the original.
//     Placeholders of the original also have its target, annotation and draw spec. Of
//     a value whose giver says nothing a port may have the original's meta or, where there
//     is none, one of its own, the same in all pieces; and it may say how it is drawn.
//     The last piece returns the original's values.
// E5: no piece takes a value that is computed in it or in a later one.
// E8: put together by their ports, the pieces are the original, node for node, and what
//     they declare (symbols, relations, attributes, weights) is the original's.
ValidationReport ValidateStructure(const Sample& original, absl::Span<const Sample> pieces,
                                   const StructureOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_VALIDATE_STRUCTURE_H_

// Checks that pieces make up the original, without running anything: that they can be put together,
// and that this gives the original back.
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

// Options of ValidateStructure.
struct StructureOptions {
  // The aspects in which the composed graph must equal the original.
  EqualityOptions equality = kExact;
  // The cut of the pieces, which determines how they take values from each other.
  CutOptions cut;
  // True for pieces of another tool. Names, metas and locations are not compared then, except that
  // `equality.attribute_names` still counts. Metas must not contradict each other in shape or
  // dtype, and the graph's inputs may come in any order; unused ones may be missing.
  bool foreign = false;
  // True if the weights of attributes are compared.
  bool weights = true;
  // A graph with metas of the values by name, for an `original` in a form that has lost metas.
  // Null: the graph of `original`.
  const Graph* known = nullptr;
};

// Runs the checks below one after the other and returns what they found. The checks of one line go
// on after a finding, and E8 is left out if there are findings already.
//
// E1: there are pieces, and each of them and the original verify. If not, nothing else is
//     reported.
// E2: if some piece has a provenance, all have one. It names the original and its CanonicalHash,
//     and the ranges follow each other from 0 to the original's end, each as long as the piece has
//     operators.
// E3: the pieces have as many operators as the original, in total and of each target, and in the
//     same order. A surplus or missing operator is reported with the piece that has or lacks it.
// E4: in a chain, the first piece takes the original's inputs, and each other piece takes what the
//     piece before returns: the same number, names and metas. In a DAG, each value that a piece
//     takes is returned by an earlier piece or is an input of the original. Placeholders of the
//     original also keep their target, annotation and draw spec. If the giver has no meta for a
//     value, a port may have the original's meta or, if there is none, one of its own that is the
//     same in all pieces; it may also have a draw spec. The last piece returns the original's
//     outputs.
// E5: no piece takes a value that it or a later piece computes.
// E8: put together by their ports, the pieces are the original, node for node, and their
//     declarations (symbols, relations, attributes, weights) are the original's.
ValidationReport ValidateStructure(const Sample& original, absl::Span<const Sample> pieces,
                                   const StructureOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_VALIDATE_STRUCTURE_H_

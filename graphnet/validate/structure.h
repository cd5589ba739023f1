// Checks, without running anything, that pieces are the whole: that they can be put
// together, and that this gives the original back.
//
//   const StructureReport report = ValidateStructure(original, pieces);
//   if (!report.ok()) std::cerr << report.status().message() << "\n";
//   std::cout << report.Counts() << "\n";  // original=10 pieces=3+3+4=10
#ifndef GRAPHNET_VALIDATE_STRUCTURE_H_
#define GRAPHNET_VALIDATE_STRUCTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/ir/equality.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// In the order in which they are looked for. 6 and 7 are what running the pieces
// shows.
enum class StructureError {
  kLayout = 1,  // a piece is missing or does not verify
  kConfig = 2,  // the ranges that the pieces say they are do not make up the graph
  kCount = 3,   // operators are missing, surplus or in another order
  kPort = 4,    // a piece takes something else than the one before returns
  kOrder = 5,   // a piece takes what only a later one computes
  kGraph = 8,   // put together, the pieces are another graph
};
absl::string_view StructureErrorName(StructureError error);  // "E3 operator count"

struct StructureFinding {
  StructureError error = StructureError::kLayout;
  int piece = -1;     // -1: not one piece's fault
  std::string where;  // name of the operator or port, or empty
  std::string message;

  // "E4 port: piece 2, input 3 (%x): …"
  std::string Text() const;
};

struct StructureReport {
  int64_t original_operators = 0;
  std::vector<int64_t> piece_operators;
  // At most kMaxFindings of each error.
  std::vector<StructureFinding> findings;

  bool ok() const { return findings.empty(); }
  // FailedPrecondition with the first finding, and how many more there are.
  absl::Status status() const;
  // "original=10 pieces=3+3+4=10"; of more than 16 pieces, only their number and
  // sum.
  std::string Counts() const;
};
inline constexpr size_t kMaxFindings = 10;

struct StructureOptions {
  // How equal the composed graph has to be to the original.
  EqualityOptions equality = kExact;
  // How the pieces were cut, which says how they take values from each other.
  CutOptions cut;
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
//     Placeholders of the original also have its target, annotation and draw spec.
//     The last piece returns the original's values.
// E5: no piece takes a value that is computed in it or in a later one.
// E8: ComposeChain or ComposeDag gives a graph equal to the original, and the weights of the
//     pieces are the original's.
StructureReport ValidateStructure(const Sample& original, absl::Span<const Sample> pieces,
                                  const StructureOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_VALIDATE_STRUCTURE_H_

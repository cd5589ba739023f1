// Cuts the main graph of a sample into a chain of pieces, each a sample of its
// own, that give the graph back when they run one after the other:
//
//   ASSIGN_OR_RETURN(std::vector<Sample> pieces,
//                    DecomposeChain(sample, EqualCuts(*sample.module->main(), 4)));
//   ASSIGN_OR_RETURN(std::unique_ptr<Module> module, ComposeChain(pieces));  // compose.h
//
// Operators are all nodes but placeholders and the output, numbered from 0 in
// program order; get_attr and getitem count. A cut p goes before operator p, and
// a range [start, end) leaves its end out.
//
// Example, cut before operator 1:
//
//   graph @forward(%x, %w) {       graph @forward(%x, %w) {   graph @forward(%x, %a) {
//     %a = torch.matmul(%x, %w)      %a = torch.matmul(%x, %w)  %b = operator.add(%a, %x)
//     %b = operator.add(%a, %x)      return (%x, %a)            return (%b,)
//     return (%b,)                 }                          }
//   }
//
// In-place operators and views: a piece takes and returns tensors by reference.
// What is mutated in one piece is therefore seen by all later ones, through the
// value itself as through any view of it, as in the uncut graph. This holds for
// chains only: pieces that run without those before them see what they are given.
#ifndef GRAPHNET_DECOMPOSE_RANGE_DECOMPOSER_H_
#define GRAPHNET_DECOMPOSE_RANGE_DECOMPOSER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

struct Range {
  int64_t start = 0;
  int64_t end = 0;

  friend bool operator==(const Range& a, const Range& b) = default;
};

// [0, num_operators) in `k` ranges whose sizes differ by at most one, the longer
// ones first. No range is empty, so there are fewer than `k` if operators are;
// without operators there is one range, which is empty. k >= 1.
std::vector<Range> EqualPieces(int64_t num_operators, int k);

// The cuts between EqualPieces; one that would go through a region that must
// stay whole (regions.h) is moved to the end of it. Cuts that thereby meet, or
// reach the end of the graph, become one, or none.
std::vector<int64_t> EqualCuts(const Graph& graph, int k);

// Cuts the main graph at `cuts`, in rising order from 0 to the number of
// operators. Ranges that are empty, as equal cuts give them, vanish; a graph
// without operators is one piece.
//
// The first piece takes all placeholders of the graph. Every other piece takes
// each value, in program order, that is defined before it and used in it or
// later; a piece but the last returns what the next one takes, as a tuple in the
// same order. The last piece returns what the graph returns.
//
// Values keep their names. A placeholder of the graph is passed on as it is. Of
// another value a piece knows the meta and, if a get_attr yields it, what the
// attribute says.
//
// A piece is named "<name>_subgraph_<i>" and has a provenance, with the
// CanonicalHash of the graph; the graph_net.json of the sample; the bodies,
// attributes, symbols and relations that it uses; and the weights of its
// attributes and of the placeholders that are the graph's own. What no piece
// uses, the first one holds. A graph_hash and extra files are the whole sample's
// alone.
//
// Time and memory are linear in the nodes, of bodies once for each piece that uses
// them, and the values passed on.
//
// InvalidArgument if the module does not verify or the cuts do not rise or leave
// the graph; FailedPrecondition if a cut goes through a region.
absl::StatusOr<std::vector<Sample>> DecomposeChain(const Sample& parent,
                                                   absl::Span<const int64_t> cuts);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_RANGE_DECOMPOSER_H_

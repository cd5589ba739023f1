// Cuts the main graph of a sample into pieces, each a sample of its own. All decompositions use
// this; decomposer.h chooses the ranges and keeps the record.
//
//   ASSIGN_OR_RETURN(std::vector<Sample> pieces,
//                    DecomposeChain(sample, EqualCuts(*sample.module->main(), 4)));
//   ASSIGN_OR_RETURN(std::unique_ptr<Module> module, ComposeChain(pieces));  // compose.h
//
// Operators are all nodes but placeholders, get_attrs and the output (IsOperator). They are
// numbered from 0 in program order; getitem counts. A cut p goes before operator p, and a range
// [start, end) excludes its end.
//
// Example, cut before operator 1:
//
//   graph @forward(%x, %w) {       graph @forward(%x, %w) {   graph @forward(%x, %a) {
//     %a = torch.matmul(%x, %w)      %a = torch.matmul(%x, %w)  %b = operator.add(%a, %x)
//     %b = operator.add(%a, %x)      return (%x, %a)            return (%b,)
//     return (%b,)                 }                          }
//   }
//
// In-place operators and views: a piece takes and returns tensors by reference, and pieces run in
// their order. All later pieces therefore see what a piece writes, through the value itself and
// through any view of it, as in the uncut graph. In a DAG the ports express this order: see
// Style::kDag.
#ifndef GRAPHNET_DECOMPOSE_RANGE_DECOMPOSER_H_
#define GRAPHNET_DECOMPOSE_RANGE_DECOMPOSER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/ir/observed_values.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

class GraphIndex;
class Regions;

// The operators from `start` up to, but not including, `end`.
struct Range {
  int64_t start = 0;
  int64_t end = 0;

  friend bool operator==(const Range& a, const Range& b) = default;
};

// The values that a piece takes and returns.
enum class Style {
  // A piece takes every value that is defined before it and used in it or later, and returns what
  // the next piece takes, as a tuple in the same order. So pieces compose by position.
  kChain,
  // A piece takes the values that its operators use, each from the piece that made it or from
  // the inputs of the graph, and returns those of its values that are used later. Pieces compose
  // by the names of values.
  //
  // Memory that the graph writes to (mutation.h) is handed from each piece that touches it to the
  // next such piece, up to the last that writes: each takes and returns all values in that memory
  // that are used later. So a piece cannot run before those whose writes it must see, nor after
  // those which must not see its own. It takes a value from the last piece that returns it. State
  // that no value carries (the random generator and the gradient mode) is right only if the pieces
  // run in their order.
  kDag,
};

// Options of CutRanges.
struct CutOptions {
  Style style = Style::kDag;
  // True if the first piece takes all inputs of the graph; false if only those that it needs.
  bool all_inputs = true;
  // True if the first piece also holds the attributes, symbols, relations and weights that no
  // piece uses, so that the pieces together are the whole sample. Decompose keeps them only if the
  // ranges have all operators.
  bool keep_unused = true;

  friend bool operator==(const CutOptions& a, const CutOptions& b) = default;
};

// Returns InvalidArgument if the sample has no module or its module does not verify.
absl::Status CheckModule(const Sample& sample);

// Cuts out the ranges, which must rise and not overlap. Empty ranges give no piece, but a graph
// without operators gives one. The ranges of a chain must follow each other without gaps. They need
// not begin or end where the graph does. The piece that ends there returns what the graph returns,
// and takes those of its values that it does not make.
//
// Each piece that uses a get_attr has its own copy of it, so that weights are where they are used.
// If the graph writes to the attribute, only the first piece that touches that memory has the
// get_attr, and later ones take its value. A piece takes it, too, behind a write that no piece
// holds.
//
// Values keep their names. Ports come in program order, get_attrs behind the placeholders. An input
// of the graph is copied unchanged. A port for another value has its meta and, if a get_attr yields
// it, the facts and the name of the attribute (`original_name`). Facts that are missing there come
// from `observed`, which may be null. Values inside of pieces do not change, so that joining the
// pieces gives the sample again.
//
// A piece is named "<name>_subgraph_<i>". It has a provenance with the CanonicalHash of the graph;
// the graph_net.json of the sample; the bodies, attributes, symbols and relations that it uses; and
// the weights of its attributes and of the graph's own placeholders. The first piece holds whatever
// no piece uses (CutOptions::keep_unused). Pieces get neither the graph_hash nor the extra files.
//
// Time and memory are linear in the ports and the nodes; bodies count once for each piece that uses
// them.
//
// The module must verify (CheckModule). InvalidArgument if the ranges break the rules above;
// FailedPrecondition if a cut goes through a region (regions.h); ResourceExhausted if the pieces
// together would take and return more than 20 million values.
absl::StatusOr<std::vector<Sample>> CutRanges(const Sample& parent, absl::Span<const Range> ranges,
                                              const CutOptions& options = {},
                                              const ObservedValues* observed = nullptr);
// Does the same for a caller that already has the index and the regions of the main graph.
absl::StatusOr<std::vector<Sample>> CutRanges(const Sample& parent, const GraphIndex& index,
                                              const Regions& regions,
                                              absl::Span<const Range> ranges,
                                              const CutOptions& options,
                                              const ObservedValues* observed);

// Cuts the whole graph into a chain of the RangesBetween `cuts`. InvalidArgument, too, if the
// module does not verify.
absl::StatusOr<std::vector<Sample>> DecomposeChain(const Sample& parent,
                                                   absl::Span<const int64_t> cuts);

// Returns the ranges between `cuts`, which must rise and lie between 0 and the number of operators.
absl::StatusOr<std::vector<Range>> RangesBetween(absl::Span<const int64_t> cuts,
                                                 int64_t num_operators);

// Divides [0, num_operators) into `k` ranges whose sizes differ by at most one, the longer ones
// first. No range is empty, so there are fewer than `k` if there are fewer operators; without
// operators there is one empty range. k >= 1.
std::vector<Range> EqualPieces(int64_t num_operators, int k);

// Returns the cuts between EqualPieces. A cut that would go through a region (regions.h) moves to
// its end. Cuts that then coincide become one, and a cut at the end of the graph is dropped.
std::vector<int64_t> EqualCuts(const Graph& graph, int k);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_RANGE_DECOMPOSER_H_

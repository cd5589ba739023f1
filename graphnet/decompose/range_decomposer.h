// Cuts the main graph of a sample into pieces, each a sample of its own. The core
// of all decompositions; decomposer.h chooses the ranges and keeps the record.
//
//   ASSIGN_OR_RETURN(std::vector<Sample> pieces,
//                    DecomposeChain(sample, EqualCuts(*sample.module->main(), 4)));
//   ASSIGN_OR_RETURN(std::unique_ptr<Module> module, ComposeChain(pieces));  // compose.h
//
// Operators are all nodes but placeholders, get_attrs and the output (IsOperator), numbered
// from 0 in program order; getitem counts. A cut p goes before operator p, and a range
// [start, end) leaves its end out.
//
// Example, cut before operator 1:
//
//   graph @forward(%x, %w) {       graph @forward(%x, %w) {   graph @forward(%x, %a) {
//     %a = torch.matmul(%x, %w)      %a = torch.matmul(%x, %w)  %b = operator.add(%a, %x)
//     %b = operator.add(%a, %x)      return (%x, %a)            return (%b,)
//     return (%b,)                 }                          }
//   }
//
// In-place operators and views: a piece takes and returns tensors by reference,
// and pieces run in their order. What one piece writes to is therefore seen by all
// later ones, through the value itself as through any view of it, as in the uncut
// graph. In a DAG the values themselves say so: see Style::kDag.
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

struct Range {
  int64_t start = 0;
  int64_t end = 0;

  friend bool operator==(const Range& a, const Range& b) = default;
};

// What a piece takes and returns.
enum class Style {
  // Every value that is defined before the piece and used in it or later; it
  // returns what the next one takes, as a tuple in the same order. So pieces
  // compose by position.
  kChain,
  // The values that its operators take, each from the piece that made it or from
  // the inputs of the graph; it returns those of its values that are used later.
  // Pieces compose by the names of values.
  //
  // Memory that the graph writes to (mutation.h) is handed from one piece that
  // touches it to the next, up to the last that writes: each takes and returns all
  // values in that memory that are used later. So no piece can run before those
  // whose writes it must see, nor after those which must not see its own, and one
  // takes a value from the last piece that returns it. What no value carries, the
  // random generator and the gradient mode, is right in the order of the pieces.
  kDag,
};

struct CutOptions {
  Style style = Style::kDag;
  // Whether the first piece takes all inputs of the graph, or those it needs.
  bool all_inputs = true;
  // Whether the first piece holds the attributes, symbols, relations and weights that no
  // piece uses, so that together they are the whole.
  bool keep_unused = true;

  friend bool operator==(const CutOptions& a, const CutOptions& b) = default;
};

// InvalidArgument if there is no module, or it does not verify.
absl::Status CheckModule(const Sample& sample);

// Cuts out the ranges, which rise and do not overlap; empty ones vanish, but a
// graph without operators is one piece. The ranges of a chain follow each other
// without gaps. They need not begin or end where the graph does; the piece that
// ends there returns what the graph returns, and takes what it lacks of it.
//
// A get_attr is in each piece that uses it, so that weights are where they are used. If the
// graph writes to the attribute, it is in the first piece that touches that memory alone, and
// later ones take its value; a piece behind a write that no piece holds takes it, too.
//
// Values keep their names, and ports come in program order, get_attrs behind the placeholders.
// An input of the graph is taken as it is. Of another value a piece knows the meta and, if a
// get_attr yields it, what the attribute says and how it is called (`original_name`). What it does
// not know of it is taken from `observed`, which may be null; values inside of pieces stay
// as they are, so that pieces put together are the sample.
//
// A piece is named "<name>_subgraph_<i>" and has a provenance, with the
// CanonicalHash of the graph; the graph_net.json of the sample; the bodies,
// attributes, symbols and relations that it uses; and the weights of its
// attributes and of the placeholders that are the graph's own. What no piece
// uses, the first one holds (CutOptions::keep_unused). A graph_hash and extra files
// are the whole sample's alone.
//
// Time and memory are linear in the nodes, of bodies once for each piece that uses
// them, and the ports.
//
// The module must verify (CheckModule). InvalidArgument if the ranges are not as above;
// FailedPrecondition if a cut goes through a region (regions.h); ResourceExhausted if the pieces
// together would take and return more than 20 million values.
absl::StatusOr<std::vector<Sample>> CutRanges(const Sample& parent, absl::Span<const Range> ranges,
                                              const CutOptions& options = {},
                                              const ObservedValues* observed = nullptr);
// The same, for a caller that has the index and the regions of the main graph already.
absl::StatusOr<std::vector<Sample>> CutRanges(const Sample& parent, const GraphIndex& index,
                                              const Regions& regions,
                                              absl::Span<const Range> ranges,
                                              const CutOptions& options,
                                              const ObservedValues* observed);

// Cuts the whole graph into a chain of the RangesBetween `cuts`. InvalidArgument also if the
// module does not verify.
absl::StatusOr<std::vector<Sample>> DecomposeChain(const Sample& parent,
                                                   absl::Span<const int64_t> cuts);

// The ranges between `cuts`, in rising order from 0 to the number of operators.
absl::StatusOr<std::vector<Range>> RangesBetween(absl::Span<const int64_t> cuts,
                                                 int64_t num_operators);

// [0, num_operators) in `k` ranges whose sizes differ by at most one, the longer
// ones first. No range is empty, so there are fewer than `k` if operators are;
// without operators there is one range, which is empty. k >= 1.
std::vector<Range> EqualPieces(int64_t num_operators, int k);

// The cuts between EqualPieces; one that would go through a region that must
// stay whole (regions.h) is moved to the end of it. Cuts that thereby meet, or
// reach the end of the graph, become one, or none.
std::vector<int64_t> EqualCuts(const Graph& graph, int k);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_RANGE_DECOMPOSER_H_

// Finds sequences of operators that recur over many graphs, by the names of the operators alone.
//
//   TypicalSequences search;
//   for (const Sample& sample : samples) RETURN_IF_ERROR(search.Add(*sample.module));
//   ASSIGN_OR_RETURN(const Typical found, search.Find({.least_graphs = 3}));
//
// Names are the meanings of calls (OperatorNames in choose.h), so shapes, dtypes, arguments and which
// value a call takes do not count. Ranges that are the same in all of that are found by recurring.h.
//
// The names of all graphs, one behind the other, are sorted by their continuations: a suffix array,
// made by doubling the length that is compared until it is most_calls. Neighbours in it have the longest
// common beginnings, and the stretches of it where these have a length are the nodes of a suffix tree.
#ifndef GRAPHNET_CORPUS_TYPICAL_H_
#define GRAPHNET_CORPUS_TYPICAL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/ir/module.h"

namespace graphnet {

struct TypicalOptions {
  int64_t least_calls = 2;  // numbers of operators; at most kMostTypicalCalls
  int64_t most_calls = 64;
  int64_t least_count = 2;   // occurrences, which may overlap
  int64_t least_graphs = 2;  // graphs that have it
  size_t limit = 100;        // how many sequences are returned at the most; 0: all
};
inline constexpr int64_t kMostTypicalCalls = 4096;

// A sequence that recurs.
struct TypicalSequence {
  std::vector<std::string> names;
  int64_t occurrences = 0;
  int64_t graphs = 0;
  size_t graph = 0;  // the first graph that has it, and the range there
  Range range;
};

struct Typical {
  // Those with the most operators in all occurrences together come first.
  std::vector<TypicalSequence> sequences;
  size_t found = 0;  // with those beyond the limit
  // By graph: ranges that can be cut out, rising, without overlaps. They are occurrences of the
  // sequences, which are gone through in their order, from the first to the last place of each.
  std::vector<std::vector<Range>> ranges;
};

// The search. One thread at a time.
class TypicalSequences {
 public:
  // A graph as the search keeps it. Many threads may make some at a time.
  struct Graph {
    std::vector<std::string> names;
    std::vector<bool> can_cut;  // whether a cut is allowed before an operator, and at the end
  };
  // The module must verify.
  static Graph GraphOf(const Module& module);

  // Adds a graph. ResourceExhausted if there are 2^31 operators.
  absl::Status Add(const Graph& graph);

  // Finds all sequences that occur so often, except those that lie in a longer one which occurs as
  // often: if all occurrences follow the same operator, or if they are followed by the same one and are
  // shorter than most_calls. So of a stretch that is longer, only the first most_calls are returned.
  // InvalidArgument if the options make no sense. O(operators · log(operators) · log(most_calls)) for the
  // search, and O(occurrences) for the ranges.
  absl::StatusOr<Typical> Find(const TypicalOptions& options) const;

 private:
  std::vector<uint32_t> text_;    // names by number; behind each graph a number of its own
  std::vector<uint32_t> begins_;  // of each graph
  std::vector<bool> can_cut_;     // before each place
  std::vector<std::string> names_;
  absl::flat_hash_map<std::string, uint32_t> numbers_;
};

}  // namespace graphnet

#endif  // GRAPHNET_CORPUS_TYPICAL_H_

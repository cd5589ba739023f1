// Finds ranges of operators that recur in many graphs.
//
//   RecurringRanges search({.calls = {2, 64}});
//   for (const Sample& sample : samples)
//     RETURN_IF_ERROR(search.Add(PrepareRanges(*sample.module, search.options())));
//   ASSIGN_OR_RETURN(const Recurring found, search.Find());
//
// Two ranges are the same if the pieces that CutRanges (decompose/range_decomposer.h) makes of them,
// as a DAG and without unused inputs, have one CanonicalHash with metas. `graphnet subgraph --range
// START:END --ports none` writes such a piece. Ranges between which and the rest no cut is allowed
// (regions.h) do not count.
#ifndef GRAPHNET_CORPUS_RECURRING_H_
#define GRAPHNET_CORPUS_RECURRING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/ir/module.h"

namespace graphnet {

namespace corpus_internal {
struct RangeForm;
}  // namespace corpus_internal

// The most operators of a range of any place.
inline constexpr int64_t kMaxRecurringCalls = 4096;

// The options say what a search looks for.
struct RecurringOptions {
  // True: ranges whose operators are all in one module, and are all of it in a row (ModulePaths in
  // decompose/schemes.h). False: ranges of any place.
  bool modules = false;
  // Ranges of any place count only if compilers may fuse them: all operators are pointwise,
  // reductions, normalisations, or move values (WorkClass in facts/cost/flops.h), and at least two of
  // them compute.
  bool fusible = false;
  // The least and the greatest number of operators. For ranges of any place, at most
  // kMaxRecurringCalls.
  int64_t least_calls = 2;
  int64_t most_calls = 64;
  // How many ranges are returned at the most.
  size_t limit = 100;
  // The bytes that the forms of the graphs and the search may take.
  uint64_t max_bytes = uint64_t{1} << 30;
  int jobs = 1;
};

// A range that recurs.
struct RecurringRange {
  size_t graph = 0;  // the first graph that has it, by the order of Add
  Range range;       // the first there
  // How often it occurs. Occurrences may overlap.
  int64_t occurrences = 0;
  std::vector<uint32_t> graphs;    // all graphs that have it, rising
  std::vector<std::string> nodes;  // the names of its operators at the first place
  std::string module;              // the module at the first place, if modules are looked for
};

// The result of a search.
struct Recurring {
  // The ranges with the most operators in all occurrences together come first.
  std::vector<RecurringRange> ranges;
  // How many recur, those beyond the limit among them.
  size_t found = 0;
  // Beginnings from which longer ranges take, read or return too many values to be compared.
  size_t cut_short = 0;
};

// The form of a graph in which its ranges are compared.
class PreparedRanges {
 public:
  PreparedRanges(PreparedRanges&&) noexcept;
  PreparedRanges& operator=(PreparedRanges&&) noexcept;
  ~PreparedRanges();

 private:
  friend class RecurringRanges;
  friend absl::StatusOr<PreparedRanges> PrepareRanges(const Module& module,
                                                      const RecurringOptions& options);
  PreparedRanges();
  std::unique_ptr<corpus_internal::RangeForm> form_;
};

// Makes the form of a graph. Many threads may do so at a time. FailedPrecondition if the module does
// not verify; ResourceExhausted if its nodes, as they are hashed, would be far larger than the graph.
absl::StatusOr<PreparedRanges> PrepareRanges(const Module& module, const RecurringOptions& options);

// The search. Add and Find may be called by one thread at a time.
class RecurringRanges {
 public:
  // InvalidArgument from Find if the options make no sense.
  explicit RecurringRanges(const RecurringOptions& options);
  ~RecurringRanges();
  RecurringRanges(const RecurringRanges&) = delete;
  RecurringRanges& operator=(const RecurringRanges&) = delete;

  const RecurringOptions& options() const { return options_; }

  // Adds a graph. ResourceExhausted if there is no room for it.
  absl::Status Add(PreparedRanges graph);

  // Finds the ranges that occur more than once, except those that lie in a larger one that occurs as
  // often: a range of any place is left out if, at its first place, the next larger one with the same
  // beginning or the same end occurs as often. Those that are longer than most_calls count if they
  // end where the range does, so that of a stretch which is longer only the first most_calls
  // operators are returned. A range of a module is left out if one of a module around its first
  // place occurs as often.
  //
  // Time is O(operators · most_calls) for ranges of any place, and O(operators · depth of modules)
  // for modules. ResourceExhausted if the search needs more than max_bytes.
  absl::StatusOr<Recurring> Find();

 private:
  struct State;

  const RecurringOptions options_;
  const std::unique_ptr<State> state_;
};

}  // namespace graphnet

#endif  // GRAPHNET_CORPUS_RECURRING_H_

// The kinds of calls that a graph has, which the coverage of a corpus counts.
#ifndef GRAPHNET_CORPUS_CALLS_H_
#define GRAPHNET_CORPUS_CALLS_H_

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/types.h"

namespace graphnet {

// Calls of one operator whose values have one dtype and one rank.
struct CallKind {
  static constexpr int32_t kUnknownRank = -1;

  std::string target;             // the meaning of the call, as in CorpusRow::targets
  DType dtype = DType::kUnknown;  // also of a value that is no tensor
  int32_t rank = kUnknownRank;    // also of a value that is no tensor
  std::string user;  // the meaning of calls that take the value, if users are asked for

  friend auto operator<=>(const CallKind&, const CallKind&) = default;
};

// Returns the kinds of the calls of functions and methods in all graphs of a module, which must
// verify, sorted. Where metas are missing, dtypes and ranks follow from the operands if they can be
// inferred without running the graph (facts_table.h). With `users`, a kind is told apart by the
// meaning of a call that takes its value, too, and calls whose values no call takes are not there. ResourceExhausted if they would take more than 4 MiB.
// O(nodes + operands).
absl::StatusOr<std::vector<CallKind>> CallKindsOf(const Module& module, bool users);
// Returns both kinds of kinds: without users, and with them.
absl::StatusOr<std::vector<CallKind>> AllCallKindsOf(const Module& module);

}  // namespace graphnet

#endif  // GRAPHNET_CORPUS_CALLS_H_

// Internal to passes with the options module, nodes and skip: which calls the user means.
#ifndef GRAPHNET_PASSES_CALL_SCOPE_H_
#define GRAPHNET_PASSES_CALL_SCOPE_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "graphnet/ir/node.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// A part of a program.
struct CallScope {
  std::vector<std::string> modules;  // paths: the calls below one of them,
  std::vector<std::string> nodes;    // and the calls of these names; all calls if both are empty
  std::vector<std::string> skip;     // paths and names of calls that do not count
};

// Returns what the options module, nodes and skip of a pass say.
CallScope CallScopeOf(const PassRun& run);

// Decides which calls a scope means, and remembers which of its words meant something.
class ScopeMatcher {
 public:
  // `scope` must outlive this object.
  explicit ScopeMatcher(const CallScope& scope) : scope_(scope) {}

  bool Means(const Node& call);
  // Returns FailedPrecondition for a word that meant no call so far.
  absl::Status CheckWords() const;

 private:
  bool MatchesAny(const std::vector<std::string>& words,
                  absl::FunctionRef<bool(const std::string& word)> matches);

  const CallScope& scope_;
  absl::flat_hash_set<std::string> found_;
};

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_CALL_SCOPE_H_

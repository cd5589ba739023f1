// Rules of the user's own.
#ifndef GRAPHNET_PASSES_REWRITE_H_
#define GRAPHNET_PASSES_REWRITE_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Rewrites a graph by the rules of a file.
//
// Applicable in scenarios where a graph needs surgery that no pass knows of: a fused
// operator for a chain of calls, another spelling of a function, a call to leave out.
//
// When applied, this pass will replace every part of a graph that a rule's pattern matches
// by the rule's replacement, both small graphs in the text form (pattern.h says how they
// are written), until no rule matches any more. What is made has the location and module
// path of the call that yielded the value, and the last of it its name and meta.
//
// Options:
// - rules: the file
//
// Performance impact: O(nodes) for the usual rules: a match is looked for where the
// target of its last call occurs, and costs the size of the pattern.
//
// Risks and limitations: that a replacement computes the same is for the rule's author to
// know. For a rule that never matched a warning says why; one that is applied once is so
// in each run. Values inside of a match must not be used elsewhere, and nothing may be written
// to memory in between, or it is left alone. Rules that undo each other are an error.
//
// Example: a rule by which the second of two relus goes, and one by which a chain is one call
//   rules=tests/passes/example.rules
//   graph @forward(%x, %w, %b) {
//     %a = torch.relu(%x)
//     %c = torch.relu(%a)
//     %m = torch.matmul(%c, %w)
//     %y = torch.add(%m, %b)
//     return (%y,)
//   }
//   becomes
//   graph @forward(%x, %w, %b) {
//     %c = torch.relu(%x)
//     %y = torch.addmm(%b, %c, %w)
//     return (%y,)
//   }
//
// Counter-example: the value inside is used elsewhere
//   rules=tests/passes/example.rules
//   graph @forward(%x) {
//     %a = torch.relu(%x)
//     %c = torch.relu(%a)
//     return (%a, %c)
//   }
//
// Returns whether anything changed.
absl::StatusOr<bool> Rewrite(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_REWRITE_H_

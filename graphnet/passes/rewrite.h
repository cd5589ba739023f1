// Applies the user's own rules.
#ifndef GRAPHNET_PASSES_REWRITE_H_
#define GRAPHNET_PASSES_REWRITE_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Rewrites a graph by the rules of a file.
//
// Applicable in scenarios where a graph needs a change that no pass makes: a fused operator for a
// chain of calls, another spelling of a function, a call to leave out.
//
// When applied, this pass will replace every match of a rule's pattern by the rule's replacement,
// both small graphs in the text form (pattern.h describes them), until no rule matches any more.
// New calls have the location and module path of the call that yielded the value, and the last of
// them its name and meta.
//
// Options:
// - rules: the file
//
// Performance impact: O(nodes) for the usual rules: only calls with the target of a pattern's last
// call are tried, and each costs the size of the pattern.
//
// Risks and limitations: the author of a rule must make sure that the replacement computes the
// same. A warning says why a rule never matched. A rule with "once" is not applied to its own
// results, except in the next run. A match is left alone if an inner value is used elsewhere, or if
// a call in between writes to memory. Rules that undo each other are an error.
//
// Example: one rule removes the second of two relus, another makes a chain one call
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
// Example: the operands of the chain are values of other calls
//   rules=tests/passes/example.rules
//   graph @forward(%x, %w, %b) {
//     %t = .t(%w)
//     %m = torch.matmul(%x, %t)
//     %n = torch.neg(%b)
//     %y = torch.add(%m, %n)
//     %r = torch.relu(%y)
//     return (%r,)
//   }
//   becomes
//   graph @forward(%x, %w, %b) {
//     %t = .t(%w)
//     %n = torch.neg(%b)
//     %y = torch.addmm(%n, %x, %t)
//     %r = torch.relu(%y)
//     return (%r,)
//   }
//
// Counter-example: the value inside is an output, too
//   rules=tests/passes/example.rules
//   graph @forward(%x) {
//     %a = torch.relu(%x)
//     %c = torch.relu(%a)
//     return (%a, %c)
//   }
//
// Counter-example: a call in between writes to memory
//   rules=tests/passes/example.rules
//   graph @forward(%x) {
//     %a = torch.relu(%x)
//     %b = .add_(%x, 1)
//     %c = torch.relu(%a)
//     return (%b, %c)
//   }
//
// Returns whether anything changed.
absl::StatusOr<bool> Rewrite(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_REWRITE_H_

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
// Risks and limitations: the author of a rule has to know that the replacement computes the same.
// A warning says why a rule never matched. A rule with "once" is not applied to what it made
// itself, but it is in the next run. A part is left alone where a value inside of it is used
// elsewhere, or where a call in between writes to memory. Rules that undo each other are an
// error.
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

// The pass partition: calls that a backend supports become calls of bodies.
#ifndef GRAPHNET_EVALUATE_PARTITION_PASS_H_
#define GRAPHNET_EVALUATE_PARTITION_PASS_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Moves groups of calls that a backend supports into bodies, each of which is called.
//
// Applicable in scenarios where a backend takes a part of the operators and the rest runs elsewhere,
// or to see how many parts a graph falls into for a backend.
//
// When applied, this pass will ask for each call of the main graph whether the backend supports it.
// Supported calls that are connected become a group, as large as it can be without a cycle among the
// groups. Each group becomes a body, and torch.ops.higher_order.wrap calls it. An interpreter may
// hand this call to the backend (decompose/partition.h); otherwise the body runs as before.
//
// Options:
// - backend: onnx, for what PyTorch's ONNX exporter takes, or mlir, for the operators of MLIR's torch
//   dialect; a call of PyTorch is supported if all calls of ATen that it lowers to are
// - rules: instead of a backend, a file with a query in each line, as `graphnet find` takes them: an
//   operator in any spelling (relu), a call with arguments (conv2d(groups=1)), or nested calls
//   (relu(linear(%, ?, ?))), which are supported together; # begins a comment
// - min-operators: smaller groups stay as they are; 1 when it is not given
//
// Performance impact: O(nodes) in the usual case, see decompose/partition.h for the limit on the
// search for larger groups. Running takes as long as before.
//
// Risks and limitations: values and their bits stay the same. Calls inside of bodies, such as those of
// a branch, are in no group, and neither are calls that take or make a list, tuple or dict of
// TorchScript. Calls keep their order on memory that the graph writes to. Parameters become inputs of
// the bodies. A backend may refuse a call for other reasons than its operator.
//
// Example: the exporter of ONNX has no function for one call
//   backend=onnx
//   graph @forward(%x, %w) {
//     %a = torch.nn.functional.linear(%x, %w)
//     %b = torch.relu(%a)
//     %c = torch.special.i1(%b)
//     %d = torch.sigmoid(%c)
//     return (%d,)
//   }
//   becomes
//   graph @forward(%x, %w) {
//     %b = torch.ops.higher_order.wrap(@group, %x, %w)
//     %c = torch.special.i1(%b)
//     %d = torch.ops.higher_order.wrap(@group_1, %c)
//     return (%d,)
//   }
//   graph @group(%x, %w) {
//     %a = torch.nn.functional.linear(%x, %w)
//     %b = torch.relu(%a)
//     return %b
//   }
//   graph @group_1(%c) {
//     %d = torch.sigmoid(%c)
//     return %d
//   }
//
// Example: a file says what is supported, relu in any spelling and linear with a bias
//   rules=tests/passes/supported.txt,min-operators=2
//   graph @forward(%x, %w, %b) {
//     %a = torch.nn.functional.linear(%x, %w, %b)
//     %c = .relu(%a)
//     %d = torch.nn.functional.linear(%c, %w)
//     %e = torch.relu(%d)
//     return (%e,)
//   }
//   becomes
//   graph @forward(%x, %w, %b) {
//     %c = torch.ops.higher_order.wrap(@group, %x, %w, %b)
//     %d = torch.nn.functional.linear(%c, %w)
//     %e = torch.relu(%d)
//     return (%e,)
//   }
//   graph @group(%x, %w, %b) {
//     %a = torch.nn.functional.linear(%x, %w, %b)
//     %c = .relu(%a)
//     return %c
//   }
//
// Counter-example: the groups are too small
//   backend=mlir,min-operators=2
//   graph @forward(%x) {
//     %a = torch.relu(%x)
//     %b = mylib.f(%a)
//     %c = torch.sigmoid(%b)
//     return (%c,)
//   }
//
// Counter-example: no table says what the backend supports
//   backend=xla
//   graph @forward(%x) {
//     %a = torch.relu(%x)
//     return (%a,)
//   }
//   refused: no table of the operators of xla
//
// Returns whether anything changed. A note says how many groups of how many calls there are.
absl::StatusOr<bool> PartitionForBackend(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_PARTITION_PASS_H_

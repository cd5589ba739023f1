// The pass to-paddle: rewrites calls of PyTorch as calls of Paddle.
#ifndef GRAPHNET_PADDLE_TO_PADDLE_H_
#define GRAPHNET_PADDLE_TO_PADDLE_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Rewrites calls of PyTorch as calls of Paddle 3.3.
//
// Applicable in scenarios where a graph of PyTorch goes to Paddle. After stabilize,
// revert-vmap and expand-vmap, every call of most graphs can be rewritten.
//
// When applied, this pass will bind the arguments of each call to PyTorch's parameters and replace
// the call by the one or few calls that paddle_rules.txt gives for it. Arguments get Paddle's
// names. Arguments without meaning in Paddle are left out, and others are added where the defaults
// differ. dtypes and devices become Paddle's words: torch.float32 is "float32", cuda:0 is "gpu:0".
// A call in place becomes Paddle's call in place, or paddle.assign of the value if Paddle has none.
// torch._foreach_f becomes f for each tensor of the list. Checks of sizes are removed if their
// value is unused. Operators of Python are the same in both.
//
// Performance impact: O(nodes).
//
// Risks and limitations: a call stays as it is if its target has no row, or if it has an argument
// that Paddle does not have. A note says how many calls of each target stay, and why. Paddle
// promotes types by its own rules and draws other random numbers. Names and metas do not change.
//
// Example: other names, other defaults, two calls for one
//   graph @forward(%x, %w, %b) {
//     %l = torch.nn.functional.linear(%x, %w, %b)
//     %g = torch.nn.functional.gelu(%l, approximate = "tanh")
//     %c = torch.cat((%g, %l), dim = 1)
//     %t = .view_as(%c, %x)
//     %f = .to(%t, torch.float16)
//     return (%f,)
//   }
//   becomes
//   graph @forward(%x, %w, %b) {
//     %l = paddle.compat.nn.functional.linear(input = %x, weight = %w, bias = %b)
//     %g = paddle.nn.functional.gelu(x = %l, approximate = True)
//     %c = paddle.concat(x = (%g, %l), axis = 1)
//     %getattr = builtins.getattr(%x, "shape")
//     %t = paddle.reshape(x = %c, shape = %getattr)
//     %f = paddle.cast(x = %t, dtype = "float16")
//     return (%f,)
//   }
//
// Example: a sum in place, a list of tensors, and a device
//   graph @forward(%x, %y) {
//     %a = .add_(%x, %y)
//     %b = torch._foreach_mul((%x, %y), 2)
//     %c = torch.zeros(2, 3, dtype = torch.int64, device = device("cuda:0"))
//     %d = operator.mul(%a, 2)
//     return (%b, %c, %d)
//   }
//   becomes
//   graph @forward(%x, %y) {
//     %add = operator.add(%x, %y)
//     %a = paddle.assign(x = %add, output = %x)
//     %mul = operator.mul(%x, 2)
//     %mul_2 = operator.mul(%y, 2)
//     %b = builtins.list([%mul, %mul_2])
//     %c = paddle.zeros(shape = [2, 3], dtype = "int64", device = "gpu:0")
//     %d = operator.mul(%a, 2)
//     return (%b, %c, %d)
//   }
//
// Counter-example: Paddle does not have the argument, or the function
//   graph @forward(%v, %x) {
//     %a = torch.nn.functional.max_pool2d(%x, 3, dilation = 2)
//     %b = mylib.f(%a)
//     return (%b,)
//   }
//
// Returns whether anything changed. Notes say how many calls were converted and which were not.
absl::StatusOr<bool> ToPaddle(Module* module, PassRun& run);

// The calls of a module that were and were not converted.
struct PaddleCoverage {
  bool changed = false;
  size_t converted = 0;  // calls that are calls of Paddle now
  // Number of calls that stay, by target and reason.
  std::map<std::pair<std::string, std::string>, size_t> left;
};
absl::StatusOr<PaddleCoverage> ConvertCallsToPaddle(Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_PADDLE_TO_PADDLE_H_

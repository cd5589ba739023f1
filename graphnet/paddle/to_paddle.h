// Calls of PyTorch become calls of Paddle.
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

// Writes calls of PyTorch as those of Paddle 3.3.
//
// Applicable in scenarios where a graph of PyTorch goes to Paddle. After stabilize,
// revert-vmap and expand-vmap most graphs are written so to the last call.
//
// When applied, this pass will bind the arguments of each call to the parameters that
// PyTorch has, and make the call, or the few calls, that paddle_rules.txt has for it:
// arguments under Paddle's names, those left out that say nothing, others written where the
// defaults differ. dtypes and devices become Paddle's words: torch.float32 is "float32",
// cuda:0 is "gpu:0". A call in place becomes the one of Paddle that is, or
// paddle.assign of the value; torch._foreach_f becomes f for each tensor of the list. Checks of
// sizes whose value nobody uses go. Operators of Python are the same in both.
//
// Performance impact: O(nodes).
//
// Risks and limitations: a call stays as it is where its target has no row, or where it has an
// argument that Paddle does not have. A note says how many calls of which target stay, and why.
// Paddle promotes types by its own rules, and draws other random numbers. Names and metas stay.
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
// Returns whether anything changed. Notes say how many calls are in Paddle's terms and
// which are not.
absl::StatusOr<bool> ToPaddle(Module* module, PassRun& run);

// What ToPaddle made of the calls of a module.
struct PaddleCoverage {
  bool changed = false;
  size_t converted = 0;  // calls in Paddle's terms
  // Calls that stay, by target and why.
  std::map<std::pair<std::string, std::string>, size_t> left;
};
absl::StatusOr<PaddleCoverage> ConvertCallsToPaddle(Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_PADDLE_TO_PADDLE_H_

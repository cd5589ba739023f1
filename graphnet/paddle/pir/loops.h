// Prints a graph as nests of loops, in the form of CINN's AST (spec.md section 8, source 004):
//
//   function group_0 (_var: float32[64, 128], _var_0: float32[64, 128], _var_3: float32[64, 128])
//   {
//     ScheduleBlock(root_1)
//     {
//       serial for (i, 0ll, 64ll)
//       {
//         serial for (j, 0ll, 128ll)
//         {
//           ScheduleBlock(var_3)
//           {
//             i0_1, i1_1 = axis.bind(i, j)
//             var_3[i0_1, i1_1] = ((var[i0_1, i1_1] - var_0[i0_1, i1_1]) * var[i0_1, i1_1])
//           }
//         }
//       }
//     }
//   }
//   call group_0 (x, y) -> (multiply: float32[64, 128])
//
// A function is a group of operations (groups.h). Its parameters are its inputs and then its
// results. Its values are called var, var_0, var_1, … in the order of its inputs, its operations
// and the values that it stores for others; axes and the root are numbered alike, by operation. An
// element-wise value is written into the block that reads it. A value has a block of its own if it
// is used outside, if it is a reduction, or if a block would get too long; values that stay inside
// are named under `buffers`. Adjacent blocks of one shape share a nest. A reduction has its own
// nest: a block with the initial value, the reduced loops, which are called reduce_…, and a block
// with the final step if it is a mean. Every other operation is a `call`.
//
// Bound to a GPU, a nest is a loop over blocks and a loop over 256 threads, or fewer if there are
// fewer elements. The axes are computed from both, and a condition excludes surplus threads. Blocks
// then say what they read and write.
#ifndef GRAPHNET_PADDLE_PIR_LOOPS_H_
#define GRAPHNET_PADDLE_PIR_LOOPS_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet::pir {

struct LoopOptions {
  bool bound = false;           // true if loops are bound to blocks and threads
  std::optional<size_t> group;  // prints this group only, counted from 0
};

// Prints the main graph of a module from ToPir. InvalidArgument if the group does not exist.
absl::StatusOr<std::string> PrintLoops(const Module& module, const LoopOptions& options = {});

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_LOOPS_H_

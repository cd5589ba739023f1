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
// A function is a group of operations (groups.h); its parameters are what it takes and then what it
// yields. Its values are called var, var_0, var_1, … in the order of its inputs, its operations
// and what it stores for others; axes and the root are counted alike, by operation. A value that
// is computed element by element is written where it is read, in one block. A value has a block of
// its own if others use it outside, if it is a reduction, or if a block would get too long; those
// that stay inside are named under `buffers`. Blocks of one shape that follow each other share a
// nest. A reduction has one of its own: a block that begins it, the loops that are reduced, called
// reduce_…, and a block that finishes it if it is a mean. All else is a `call`.
//
// Bound to a GPU, a nest is a loop over blocks and one over 256 threads, or as many as there are
// elements; the axes are computed of both, and a condition leaves out what is too much. Blocks say
// what they read and write then.
#ifndef GRAPHNET_PADDLE_PIR_LOOPS_H_
#define GRAPHNET_PADDLE_PIR_LOOPS_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet::pir {

struct LoopOptions {
  bool bound = false;           // to blocks and threads
  std::optional<size_t> group;  // the loops of that group alone, counted from 0
};

// Prints the main graph of a module as ToPir makes it. InvalidArgument if there is no such group.
absl::StatusOr<std::string> PrintLoops(const Module& module, const LoopOptions& options = {});

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_LOOPS_H_

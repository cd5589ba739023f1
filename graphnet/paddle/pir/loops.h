// Prints a graph as nests of loops, in the form of CINN's AST (spec.md section 8, source 004):
//
//   function group_0 (_x: float32[64, 128], _y: float32[64, 128], _v: float32[64, 128])
//   {
//     ScheduleBlock(root)
//     {
//       serial for (i, 0, 64)
//       {
//         serial for (j, 0, 128)
//         {
//           ScheduleBlock(v)
//           {
//             i0, i1 = axis.bind(i, j)
//             read_buffers(_x[i0(0:64), i1(0:128)], _y[i0(0:64), i1(0:128)])
//             write_buffers(_v[i0(0:64), i1(0:128)])
//             v[i0, i1] = (x[i0, i1] - y[i0, i1])
//           }
//         }
//       }
//     }
//   }
//
// A function is a group of operations (groups.h): its inputs, then what it yields; what lies only
// between two of its operations is named under `buffers`. Operations of one shape that follow each
// other share a nest. A reduction has one of its own: a block that begins it, the loops that are
// reduced, called reduce_…, and a block that finishes it if it is a mean. All else is a `call`.
//
// Bound to a GPU, a nest is a loop over blocks and one over 256 threads, or as many as there are
// elements; the axes are computed of both, and a condition leaves out what is too much.
#ifndef GRAPHNET_PADDLE_PIR_LOOPS_H_
#define GRAPHNET_PADDLE_PIR_LOOPS_H_

#include <string>

#include "graphnet/ir/module.h"

namespace graphnet::pir {

struct LoopOptions {
  bool bound = false;  // to blocks and threads
};

// Of the main graph of a module as ToPir makes it.
std::string PrintLoops(const Module& module, const LoopOptions& options = {});

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_LOOPS_H_

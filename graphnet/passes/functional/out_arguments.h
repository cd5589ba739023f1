// Calls that write to an argument `out`.
#ifndef GRAPHNET_PASSES_FUNCTIONAL_OUT_ARGUMENTS_H_
#define GRAPHNET_PASSES_FUNCTIONAL_OUT_ARGUMENTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "graphnet/ir/module.h"

namespace graphnet {

struct OutCall {
  Node* call = nullptr;
  Node* copy = nullptr;  // copies the result to the tensor
  std::string target;    // the original target, such as aten.add.out
  size_t place = 0;      // the index of `out` among its keywords
};

// Rewrites torch.add(x, y, out=z) as aten.copy_(z, torch.add(x, y)). That is the same if z has
// the sizes and the dtype of the sum and the call reads no other part of z.
std::vector<OutCall> SplitOutCalls(Module* module);
// Undoes SplitOutCalls for the calls whose copy still exists.
void JoinOutCalls(const std::vector<OutCall>& calls);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_FUNCTIONAL_OUT_ARGUMENTS_H_

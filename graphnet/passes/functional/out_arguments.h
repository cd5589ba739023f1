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
  Node* copy = nullptr;  // of what it yields to the tensor
  std::string target;    // of the call as it was: aten.add.out
  size_t place = 0;      // of `out` among its keywords
};

// torch.add(x, y, out=z) becomes aten.copy_(z, torch.add(x, y)), which is the same where z has
// the sizes and the dtype of the sum and the call reads no other part of z.
std::vector<OutCall> SplitOutCalls(Module* module);
// Undoes it where the copy is still there.
void JoinOutCalls(const std::vector<OutCall>& calls);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_FUNCTIONAL_OUT_ARGUMENTS_H_

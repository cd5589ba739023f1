// Writes groups of operations as CINN does: each is a cinn_op.fusion with a region.
#ifndef GRAPHNET_PADDLE_PIR_FUSION_H_
#define GRAPHNET_PADDLE_PIR_FUSION_H_

#include "graphnet/ir/module.h"

namespace graphnet::pir {

// Puts each group of the main graph (groups.h), even a group of one operation, into the region of a
// cinn_op.fusion. Its results are the values that are used outside: each goes through a
// cinn_op.yield_store, and a cf.yield returns them all. The module must come from ToPir.
void FuseGroups(Module* module);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_FUSION_H_

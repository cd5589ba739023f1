// Groups of operations as CINN has them: one cinn_op.fusion each, with a region.
#ifndef GRAPHNET_PADDLE_PIR_FUSION_H_
#define GRAPHNET_PADDLE_PIR_FUSION_H_

#include "graphnet/ir/module.h"

namespace graphnet::pir {

// Puts each group of the main graph (groups.h), also one of one operation, into the region of a
// cinn_op.fusion, whose results are the values that are used outside: each goes through a
// cinn_op.yield_store, and all by cf.yield. Of a module as ToPir makes it.
void FuseGroups(Module* module);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_FUSION_H_

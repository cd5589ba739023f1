// Result types of PIR's operators, as far as the lowering needs them: those of operators that it
// inserts, which have no node in the original graph, and those of results that PyTorch's operators
// do not have.
#ifndef GRAPHNET_PADDLE_PIR_RESULT_TYPES_H_
#define GRAPHNET_PADDLE_PIR_RESULT_TYPES_H_

#include <vector>

#include "graphnet/ir/graph.h"

namespace graphnet::pir {

// Returns the meta of each result of the operation `node`, such as "pd_op.matmul"; nullptr if it is
// not known. Constants among its operands must be pd_op.full or pd_op.full_int_array.
std::vector<const ValueMeta*> InferResults(const Node& node);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_RESULT_TYPES_H_

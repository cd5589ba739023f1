// What PIR's operators yield, as far as the lowering needs to know: of those that it puts between
// others, whose values no node of the graph that is lowered says anything of, and of the results
// that PyTorch's operators do not have.
#ifndef GRAPHNET_PADDLE_PIR_RESULT_TYPES_H_
#define GRAPHNET_PADDLE_PIR_RESULT_TYPES_H_

#include <vector>

#include "graphnet/ir/graph.h"

namespace graphnet::pir {

// Of each result of the operation `node`, "pd_op.matmul" with its operands and attributes; null
// where it is not known. Constants that it takes are pd_op.full and pd_op.full_int_array.
std::vector<const ValueMeta*> InferResults(const Node& node);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_RESULT_TYPES_H_

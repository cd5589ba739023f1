// PyTorch's numbers of dtypes (c10::ScalarType), by which TorchScript and MLIR's torch dialect pass
// them.
#ifndef GRAPHNET_IR_SCALAR_TYPE_H_
#define GRAPHNET_IR_SCALAR_TYPE_H_

#include <cstdint>
#include <optional>

#include "graphnet/ir/types.h"

namespace graphnet {

// Returns the number of a dtype; nullopt for kUnknown and for packed bits, which no call passes.
std::optional<int64_t> TorchScalarType(DType dtype);

}  // namespace graphnet

#endif  // GRAPHNET_IR_SCALAR_TYPE_H_

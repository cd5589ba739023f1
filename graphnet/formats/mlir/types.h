// Spells types and dtypes in MLIR's torch dialect.
#ifndef GRAPHNET_FORMATS_MLIR_TYPES_H_
#define GRAPHNET_FORMATS_MLIR_TYPES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "graphnet/ir/tensor_meta.h"
#include "graphnet/ir/types.h"

namespace graphnet::mlir {

// Returns the torch dialect's name of a dtype, such as "si64"; empty if it has none.
absl::string_view ElementType(DType dtype);
// Returns the element type of builtin tensors, whose integers are signless ("i64"); empty if there
// is none.
absl::string_view BuiltinElementType(DType dtype);
// Returns a type such as "!torch.vtensor<[1,3,?],f32>"; nullopt if the rank is unknown or the
// dialect has no name for the dtype. `meta` may be null.
std::optional<std::string> TensorType(const TensorMeta* meta);
// Returns a type such as "tensor<1x3xf32>"; nullopt unless all sizes are known.
std::optional<std::string> BuiltinTensorType(const TensorMeta& meta);

// Returns PyTorch's number of a dtype (c10::ScalarType), which calls pass; nullopt if the dialect
// does not have the dtype.
std::optional<int64_t> ScalarTypeNumber(DType dtype);

}  // namespace graphnet::mlir

#endif  // GRAPHNET_FORMATS_MLIR_TYPES_H_

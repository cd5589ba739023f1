// Types of the torch dialect of MLIR.
#ifndef GRAPHNET_FORMATS_MLIR_TYPES_H_
#define GRAPHNET_FORMATS_MLIR_TYPES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "graphnet/ir/tensor_meta.h"
#include "graphnet/ir/types.h"

namespace graphnet::mlir {

// "si64"; empty for a dtype that the dialect has no name for.
absl::string_view ElementType(DType dtype);
// Of builtin tensors, whose integers have no sign: "i64".
absl::string_view BuiltinElementType(DType dtype);
// "!torch.vtensor<[1,3,?],f32>"; nullopt if rank or dtype are not known, or have no name.
std::optional<std::string> TensorType(const TensorMeta* meta);
// "tensor<1x3xf32>", of a tensor of known sizes.
std::optional<std::string> BuiltinTensorType(const TensorMeta& meta);

// PyTorch's number, by which calls name it (c10::ScalarType); nullopt: none.
std::optional<int64_t> ScalarTypeNumber(DType dtype);

}  // namespace graphnet::mlir

#endif  // GRAPHNET_FORMATS_MLIR_TYPES_H_

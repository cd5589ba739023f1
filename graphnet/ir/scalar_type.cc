#include "graphnet/ir/scalar_type.h"

namespace graphnet {

std::optional<int64_t> TorchScalarType(DType dtype) {
  switch (dtype) {
    case DType::kUInt8: return 0;
    case DType::kInt8: return 1;
    case DType::kInt16: return 2;
    case DType::kInt32: return 3;
    case DType::kInt64: return 4;
    case DType::kFloat16: return 5;
    case DType::kFloat32: return 6;
    case DType::kFloat64: return 7;
    case DType::kComplex32: return 8;
    case DType::kComplex64: return 9;
    case DType::kComplex128: return 10;
    case DType::kBool: return 11;
    case DType::kQInt8: return 12;
    case DType::kQUInt8: return 13;
    case DType::kQInt32: return 14;
    case DType::kBFloat16: return 15;
    case DType::kFloat8E5M2: return 23;
    case DType::kFloat8E4M3FN: return 24;
    case DType::kFloat8E5M2FNUZ: return 25;
    case DType::kFloat8E4M3FNUZ: return 26;
    case DType::kUInt16: return 27;
    case DType::kUInt32: return 28;
    case DType::kUInt64: return 29;
    case DType::kFloat8E8M0FNU: return 44;
    default: return std::nullopt;
  }
}

}  // namespace graphnet

// Reads the elements of tensors as numbers.
#ifndef GRAPHNET_INTERP_INPUTS_NUMBERS_H_
#define GRAPHNET_INTERP_INPUTS_NUMBERS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "graphnet/interp/inputs/float16.h"
#include "graphnet/ir/types.h"

namespace graphnet {

// The numbers that elements of a dtype stand for.
struct Numbers {
  double (*read)(const char*) = nullptr;  // null: unknown
  size_t bytes = 0;                       // of one number
  bool is_complex = false;                // an element is two numbers

  template <typename T>
  static T Load(const char* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  template <typename T>
  static Numbers Plain(bool is_complex = false) {
    return {[](const char* bytes) { return static_cast<double>(Load<T>(bytes)); }, sizeof(T),
            is_complex};
  }
};

// Returns how to read a dtype; unknown for floats of 8 bits and quantised dtypes.
inline Numbers NumbersOf(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8: return Numbers::Plain<uint8_t>();
    case DType::kInt8: return Numbers::Plain<int8_t>();
    case DType::kInt16: return Numbers::Plain<int16_t>();
    case DType::kUInt16: return Numbers::Plain<uint16_t>();
    case DType::kInt32: return Numbers::Plain<int32_t>();
    case DType::kUInt32: return Numbers::Plain<uint32_t>();
    case DType::kInt64: return Numbers::Plain<int64_t>();
    case DType::kUInt64: return Numbers::Plain<uint64_t>();
    case DType::kFloat32: return Numbers::Plain<float>();
    case DType::kFloat64: return Numbers::Plain<double>();
    case DType::kComplex64: return Numbers::Plain<float>(/*is_complex=*/true);
    case DType::kComplex128: return Numbers::Plain<double>(/*is_complex=*/true);
    case DType::kFloat16:
      return {[](const char* b) { return double{HalfToFloat(Numbers::Load<uint16_t>(b))}; }, 2};
    case DType::kBFloat16:
      return {[](const char* b) { return double{BFloat16ToFloat(Numbers::Load<uint16_t>(b))}; }, 2};
    default: return {};
  }
}

// Returns whether elements are floating-point or complex numbers that can be read.
inline bool HasFractions(DType dtype) {
  const Numbers numbers = NumbersOf(dtype);
  return numbers.read != nullptr && (IsFloatingPoint(dtype) || numbers.is_complex);
}

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_INPUTS_NUMBERS_H_

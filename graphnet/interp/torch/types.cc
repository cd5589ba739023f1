#include "graphnet/interp/torch/types.h"

#include <algorithm>
#include <iterator>

#include "c10/util/Exception.h"

namespace graphnet {
namespace {

using S = c10::ScalarType;
using L = c10::Layout;

// Indexed by DType.
constexpr S kScalarTypes[] = {S::Undefined,
                              S::Bool,
                              S::Byte,
                              S::Char,
                              S::Short,
                              S::Int,
                              S::Long,
                              S::UInt16,
                              S::UInt32,
                              S::UInt64,
                              S::Half,
                              S::BFloat16,
                              S::Float,
                              S::Double,
                              S::ComplexHalf,
                              S::ComplexFloat,
                              S::ComplexDouble,
                              S::Float8_e4m3fn,
                              S::Float8_e5m2,
                              S::Float8_e4m3fnuz,
                              S::Float8_e5m2fnuz,
                              S::Float8_e8m0fnu,
                              S::QInt8,
                              S::QUInt8,
                              S::QInt32,
                              S::QUInt4x2,
                              S::QUInt2x4,
                              S::Bits8,
                              S::Bits16};
static_assert(std::size(kScalarTypes) == kNumDTypes);

// Indexed by Layout.
constexpr L kLayouts[] = {L::Strided,   L::Sparse,    L::SparseCsr, L::SparseCsc,
                          L::SparseBsr, L::SparseBsc, L::Mkldnn,    L::Jagged};
static_assert(std::size(kLayouts) == kNumLayouts);

}  // namespace

DType DTypeOf(c10::ScalarType type) {
  const auto* const found = std::find(std::begin(kScalarTypes), std::end(kScalarTypes), type);
  return found == std::end(kScalarTypes) ? DType::kUnknown
                                         : static_cast<DType>(found - kScalarTypes);
}

c10::ScalarType ScalarTypeOf(DType dtype) {
  TORCH_CHECK(dtype != DType::kUnknown, "an unknown dtype");
  return kScalarTypes[static_cast<size_t>(dtype)];
}

Device DeviceOf(c10::Device device) {
  return {ParseDeviceType(c10::DeviceTypeName(device.type(), /*lower_case=*/true))
              .value_or(DeviceType::kPrivateuseone),
          static_cast<int16_t>(device.has_index() ? device.index() : -1)};
}

c10::Layout LayoutOf(Layout layout) { return kLayouts[static_cast<size_t>(layout)]; }

std::optional<Layout> LayoutOf(c10::Layout layout) {
  const auto* const found = std::find(std::begin(kLayouts), std::end(kLayouts), layout);
  if (found == std::end(kLayouts)) return std::nullopt;
  return static_cast<Layout>(found - kLayouts);
}

}  // namespace graphnet

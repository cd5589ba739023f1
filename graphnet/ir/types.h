// The scalar types of the IR: dtypes, devices, layouts and memory formats, each
// with PyTorch's own names.
#ifndef GRAPHNET_IR_TYPES_H_
#define GRAPHNET_IR_TYPES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace graphnet {

// Element types under PyTorch's canonical names ("float32"). The numbers are
// part of the protobuf form: append only.
enum class DType : uint8_t {
  kUnknown = 0,
  kBool,
  kUInt8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex32,
  kComplex64,
  kComplex128,
  kFloat8E4M3FN,
  kFloat8E5M2,
  kFloat8E4M3FNUZ,
  kFloat8E5M2FNUZ,
  kFloat8E8M0FNU,
  kQInt8,
  kQUInt8,
  kQInt32,
  kQUInt4x2,
  kQUInt2x4,
  kBits8,
  kBits16,
};
inline constexpr int kNumDTypes = static_cast<int>(DType::kBits16) + 1;

// "float32"; "unknown" for kUnknown.
absl::string_view DTypeName(DType dtype);
// "f32", as the text form writes it; "?" for kUnknown.
absl::string_view DTypeShortName(DType dtype);
// Accept "float32", and the aliases PyTorch has ("float", "half", "long", …).
std::optional<DType> ParseDType(absl::string_view name);
std::optional<DType> ParseDTypeShortName(absl::string_view name);
// Bytes an element takes; 0 for kUnknown and sub-byte types.
int DTypeBytes(DType dtype);
bool IsFloatingPoint(DType dtype);

enum class DeviceType : uint8_t {
  kCpu = 0,
  kCuda,
  kMkldnn,
  kOpengl,
  kOpencl,
  kIdeep,
  kHip,
  kFpga,
  kMaia,
  kXla,
  kVulkan,
  kMetal,
  kXpu,
  kMps,
  kMeta,
  kHpu,
  kVe,
  kLazy,
  kIpu,
  kMtia,
  kPrivateuseone,
};
inline constexpr int kNumDeviceTypes = static_cast<int>(DeviceType::kPrivateuseone) + 1;

struct Device {
  DeviceType type = DeviceType::kCpu;
  int16_t index = -1;  // -1: none given
  friend bool operator==(Device a, Device b) { return a.type == b.type && a.index == b.index; }
};

absl::string_view DeviceTypeName(DeviceType type);
std::optional<DeviceType> ParseDeviceType(absl::string_view name);
// "cpu", "cuda:0".
std::string DeviceName(Device device);
std::optional<Device> ParseDevice(absl::string_view name);

enum class Layout : uint8_t {
  kStrided = 0,
  kSparseCoo,
  kSparseCsr,
  kSparseCsc,
  kSparseBsr,
  kSparseBsc,
  kMkldnn,
  kJagged,
};
inline constexpr int kNumLayouts = static_cast<int>(Layout::kJagged) + 1;
absl::string_view LayoutName(Layout layout);  // "strided"
std::optional<Layout> ParseLayout(absl::string_view name);

enum class MemoryFormat : uint8_t {
  kContiguous = 0,
  kPreserve,
  kChannelsLast,
  kChannelsLast3d,
};
inline constexpr int kNumMemoryFormats = static_cast<int>(MemoryFormat::kChannelsLast3d) + 1;
absl::string_view MemoryFormatName(MemoryFormat format);  // "channels_last"
std::optional<MemoryFormat> ParseMemoryFormat(absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_IR_TYPES_H_

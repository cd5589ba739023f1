// The scalar types of the IR: dtypes, devices, layouts and memory formats, each with the names
// that PyTorch uses. Each parser returns nullopt for an unknown name.
#ifndef GRAPHNET_IR_TYPES_H_
#define GRAPHNET_IR_TYPES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace graphnet {

// The types of elements. The numbers are part of the protobuf form: append only.
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
inline constexpr int kNumDTypes = static_cast<int>(DType::kBits16) + 1;  // The number of dtypes.

// Returns PyTorch's canonical name, "float32"; "unknown" for kUnknown.
absl::string_view DTypeName(DType dtype);
// Returns the name in the text form, "f32"; "?" for kUnknown.
absl::string_view DTypeShortName(DType dtype);
// Parses PyTorch's name of a dtype, such as "float32", or an alias ("float", "half", "long", …).
std::optional<DType> ParseDType(absl::string_view name);
// Parses the name of a dtype in the text form.
std::optional<DType> ParseDTypeShortName(absl::string_view name);
// Returns the bytes of one element; 0 for kUnknown and for types below one byte.
int DTypeBytes(DType dtype);
bool IsFloatingPoint(DType dtype);

// The types of devices. The numbers are part of the protobuf form: append only.
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

// A device, as torch.device names it.
struct Device {
  DeviceType type = DeviceType::kCpu;
  int16_t index = -1;  // -1 if no index is given.
  friend bool operator==(Device a, Device b) { return a.type == b.type && a.index == b.index; }
};

absl::string_view DeviceTypeName(DeviceType type);  // Returns "cuda".
std::optional<DeviceType> ParseDeviceType(absl::string_view name);
std::string DeviceName(Device device);  // Returns "cpu" or "cuda:0".
std::optional<Device> ParseDevice(absl::string_view name);

// The layouts of tensors in memory. The numbers are part of the protobuf form: append only.
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
absl::string_view LayoutName(Layout layout);  // Returns "strided".
std::optional<Layout> ParseLayout(absl::string_view name);

// The memory formats. The numbers are part of the protobuf form: append only.
enum class MemoryFormat : uint8_t {
  kContiguous = 0,
  kPreserve,
  kChannelsLast,
  kChannelsLast3d,
};
inline constexpr int kNumMemoryFormats = static_cast<int>(MemoryFormat::kChannelsLast3d) + 1;
absl::string_view MemoryFormatName(MemoryFormat format);  // Returns "channels_last".
std::optional<MemoryFormat> ParseMemoryFormat(absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_IR_TYPES_H_

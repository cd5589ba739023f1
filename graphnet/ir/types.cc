#include "graphnet/ir/types.h"

#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace graphnet {
namespace {

struct DTypeRow {
  absl::string_view name, short_name;
  int bytes;
};
constexpr DTypeRow kDTypes[] = {
    {"unknown", "?", 0},
    {"bool", "bool", 1},
    {"uint8", "u8", 1},
    {"int8", "i8", 1},
    {"int16", "i16", 2},
    {"int32", "i32", 4},
    {"int64", "i64", 8},
    {"uint16", "u16", 2},
    {"uint32", "u32", 4},
    {"uint64", "u64", 8},
    {"float16", "f16", 2},
    {"bfloat16", "bf16", 2},
    {"float32", "f32", 4},
    {"float64", "f64", 8},
    {"complex32", "c32", 4},
    {"complex64", "c64", 8},
    {"complex128", "c128", 16},
    {"float8_e4m3fn", "f8e4m3fn", 1},
    {"float8_e5m2", "f8e5m2", 1},
    {"float8_e4m3fnuz", "f8e4m3fnuz", 1},
    {"float8_e5m2fnuz", "f8e5m2fnuz", 1},
    {"float8_e8m0fnu", "f8e8m0fnu", 1},
    {"qint8", "qi8", 1},
    {"quint8", "qu8", 1},
    {"qint32", "qi32", 4},
    {"quint4x2", "qu4x2", 0},
    {"quint2x4", "qu2x4", 0},
    {"bits8", "bits8", 1},
    {"bits16", "bits16", 2},
};
static_assert(std::size(kDTypes) == kNumDTypes);

constexpr absl::string_view kDeviceTypes[] = {
    "cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
    "fpga", "maia", "xla",    "vulkan", "metal",  "xpu",   "mps",
    "meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuseone"};
static_assert(std::size(kDeviceTypes) == kNumDeviceTypes);

constexpr absl::string_view kLayouts[] = {"strided",    "sparse_coo", "sparse_csr", "sparse_csc",
                                          "sparse_bsr", "sparse_bsc", "_mkldnn",    "jagged"};
static_assert(std::size(kLayouts) == kNumLayouts);

constexpr absl::string_view kMemoryFormats[] = {"contiguous_format", "preserve_format",
                                                "channels_last", "channels_last_3d"};
static_assert(std::size(kMemoryFormats) == kNumMemoryFormats);

template <typename T, size_t N>
std::optional<T> Find(const absl::string_view (&names)[N], absl::string_view name) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<T>(i);
  }
  return std::nullopt;
}

}  // namespace

absl::string_view DTypeName(DType dtype) { return kDTypes[static_cast<int>(dtype)].name; }

absl::string_view DTypeShortName(DType dtype) {
  return kDTypes[static_cast<int>(dtype)].short_name;
}

std::optional<DType> ParseDType(absl::string_view name) {
  for (int i = 1; i < kNumDTypes; ++i) {
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  }
  static constexpr std::pair<absl::string_view, DType> kAliases[] = {
      {"float", DType::kFloat32},    {"double", DType::kFloat64},     {"half", DType::kFloat16},
      {"long", DType::kInt64},       {"int", DType::kInt32},          {"short", DType::kInt16},
      {"cfloat", DType::kComplex64}, {"cdouble", DType::kComplex128}, {"chalf", DType::kComplex32}};
  for (const auto& [alias, dtype] : kAliases) {
    if (alias == name) return dtype;
  }
  return std::nullopt;
}

std::optional<DType> ParseDTypeShortName(absl::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (kDTypes[i].short_name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

int DTypeBytes(DType dtype) { return kDTypes[static_cast<int>(dtype)].bytes; }

bool IsFloatingPoint(DType dtype) {
  return (dtype >= DType::kFloat16 && dtype <= DType::kFloat64) ||
         (dtype >= DType::kFloat8E4M3FN && dtype <= DType::kFloat8E8M0FNU);
}

absl::string_view DeviceTypeName(DeviceType type) { return kDeviceTypes[static_cast<int>(type)]; }

std::optional<DeviceType> ParseDeviceType(absl::string_view name) {
  return Find<DeviceType>(kDeviceTypes, name);
}

std::string DeviceName(Device device) {
  if (device.index < 0) return std::string(DeviceTypeName(device.type));
  return absl::StrCat(DeviceTypeName(device.type), ":", device.index);
}

std::optional<Device> ParseDevice(absl::string_view name) {
  const size_t colon = name.find(':');
  const std::optional<DeviceType> type = ParseDeviceType(name.substr(0, colon));
  if (!type) return std::nullopt;
  Device device{*type, -1};
  if (colon != absl::string_view::npos) {
    const absl::string_view digits = name.substr(colon + 1);
    int index = 0;
    // SimpleAtoi alone would accept signs and blanks, too.
    if (!absl::c_all_of(digits, absl::ascii_isdigit) || (digits.size() > 1 && digits[0] == '0') ||
        !absl::SimpleAtoi(digits, &index) || index > 127) {
      return std::nullopt;
    }
    device.index = static_cast<int16_t>(index);
  }
  return device;
}

absl::string_view LayoutName(Layout layout) { return kLayouts[static_cast<int>(layout)]; }
std::optional<Layout> ParseLayout(absl::string_view name) { return Find<Layout>(kLayouts, name); }

absl::string_view MemoryFormatName(MemoryFormat format) {
  return kMemoryFormats[static_cast<int>(format)];
}
std::optional<MemoryFormat> ParseMemoryFormat(absl::string_view name) {
  return Find<MemoryFormat>(kMemoryFormats, name);
}

}  // namespace graphnet

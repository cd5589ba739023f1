#include "graphnet/ir/types.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace graphnet {
namespace {

TEST(DTypeTest, NamesAreUniqueAndParseBack) {
  std::set<absl::string_view> names;
  std::set<absl::string_view> short_names;
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_TRUE(names.insert(DTypeName(dtype)).second) << DTypeName(dtype);
    EXPECT_TRUE(short_names.insert(DTypeShortName(dtype)).second) << DTypeShortName(dtype);
    EXPECT_EQ(ParseDTypeShortName(DTypeShortName(dtype)), dtype);
    if (dtype == DType::kUnknown) continue;
    EXPECT_EQ(ParseDType(DTypeName(dtype)), dtype);
  }
  EXPECT_EQ(ParseDType("unknown"), std::nullopt);
}

TEST(DTypeTest, ParsesTheAliasesOfPyTorch) {
  const std::pair<absl::string_view, DType> cases[] = {
      {"float", DType::kFloat32},    {"double", DType::kFloat64},     {"half", DType::kFloat16},
      {"long", DType::kInt64},       {"int", DType::kInt32},          {"short", DType::kInt16},
      {"cfloat", DType::kComplex64}, {"cdouble", DType::kComplex128}, {"chalf", DType::kComplex32},
  };
  for (const auto& [name, dtype] : cases) EXPECT_EQ(ParseDType(name), dtype) << name;
  for (absl::string_view name : {"", "f32", "Float", "float32 ", "torch.float32", "?"}) {
    EXPECT_EQ(ParseDType(name), std::nullopt) << name;
  }
  for (absl::string_view name : {"", "float32", "F32", "f32 "}) {
    EXPECT_EQ(ParseDTypeShortName(name), std::nullopt) << name;
  }
}

TEST(DTypeTest, SizesAndKinds) {
  struct Case {
    DType dtype;
    absl::string_view name, short_name;
    int bytes;
    bool floating;
  };
  // One row for each dtype. The numbers are part of the file format.
  const Case cases[] = {
      {DType::kUnknown, "unknown", "?", 0, false},
      {DType::kBool, "bool", "bool", 1, false},
      {DType::kUInt8, "uint8", "u8", 1, false},
      {DType::kInt8, "int8", "i8", 1, false},
      {DType::kInt16, "int16", "i16", 2, false},
      {DType::kInt32, "int32", "i32", 4, false},
      {DType::kInt64, "int64", "i64", 8, false},
      {DType::kUInt16, "uint16", "u16", 2, false},
      {DType::kUInt32, "uint32", "u32", 4, false},
      {DType::kUInt64, "uint64", "u64", 8, false},
      {DType::kFloat16, "float16", "f16", 2, true},
      {DType::kBFloat16, "bfloat16", "bf16", 2, true},
      {DType::kFloat32, "float32", "f32", 4, true},
      {DType::kFloat64, "float64", "f64", 8, true},
      {DType::kComplex32, "complex32", "c32", 4, false},
      {DType::kComplex64, "complex64", "c64", 8, false},
      {DType::kComplex128, "complex128", "c128", 16, false},
      {DType::kFloat8E4M3FN, "float8_e4m3fn", "f8e4m3fn", 1, true},
      {DType::kFloat8E5M2, "float8_e5m2", "f8e5m2", 1, true},
      {DType::kFloat8E4M3FNUZ, "float8_e4m3fnuz", "f8e4m3fnuz", 1, true},
      {DType::kFloat8E5M2FNUZ, "float8_e5m2fnuz", "f8e5m2fnuz", 1, true},
      {DType::kFloat8E8M0FNU, "float8_e8m0fnu", "f8e8m0fnu", 1, true},
      {DType::kQInt8, "qint8", "qi8", 1, false},
      {DType::kQUInt8, "quint8", "qu8", 1, false},
      {DType::kQInt32, "qint32", "qi32", 4, false},
      {DType::kQUInt4x2, "quint4x2", "qu4x2", 0, false},
      {DType::kQUInt2x4, "quint2x4", "qu2x4", 0, false},
      {DType::kBits8, "bits8", "bits8", 1, false},
      {DType::kBits16, "bits16", "bits16", 2, false},
  };
  int number = 0;
  for (const Case& c : cases) {
    EXPECT_EQ(static_cast<int>(c.dtype), number++);
    EXPECT_EQ(DTypeName(c.dtype), c.name);
    EXPECT_EQ(DTypeShortName(c.dtype), c.short_name);
    EXPECT_EQ(DTypeBytes(c.dtype), c.bytes) << c.name;
    EXPECT_EQ(IsFloatingPoint(c.dtype), c.floating) << c.name;
  }
  EXPECT_EQ(number, kNumDTypes);
}

TEST(DeviceTest, TypesParseBack) {
  for (int i = 0; i < kNumDeviceTypes; ++i) {
    const auto type = static_cast<DeviceType>(i);
    EXPECT_EQ(ParseDeviceType(DeviceTypeName(type)), type);
  }
  EXPECT_EQ(ParseDeviceType("CPU"), std::nullopt);
}

TEST(DeviceTest, NamesParseBack) {
  const std::pair<std::string, Device> cases[] = {
      {"cpu", {DeviceType::kCpu, -1}},    {"cpu:0", {DeviceType::kCpu, 0}},
      {"cuda:7", {DeviceType::kCuda, 7}}, {"xla:127", {DeviceType::kXla, 127}},
      {"meta", {DeviceType::kMeta, -1}},
  };
  for (const auto& [name, device] : cases) {
    EXPECT_EQ(DeviceName(device), name);
    ASSERT_TRUE(ParseDevice(name).has_value()) << name;
    EXPECT_EQ(*ParseDevice(name), device) << name;
  }
}

TEST(DeviceTest, RefusesWhatPyTorchRefuses) {
  for (absl::string_view name :
       {"", ":", "gpu", "cuda:", "cuda:-1", "cuda:+1", "cuda: 1", "cuda:1 ", "cuda:01", "cuda:00",
        "cuda:128", "cuda:99999999999999999999", "cuda:1:2", "cuda:x", "cuda:1x", " cuda"}) {
    EXPECT_EQ(ParseDevice(name), std::nullopt) << name;
  }
}

TEST(LayoutTest, NamesParseBack) {
  for (int i = 0; i < kNumLayouts; ++i) {
    const auto layout = static_cast<Layout>(i);
    EXPECT_EQ(ParseLayout(LayoutName(layout)), layout);
  }
  EXPECT_EQ(LayoutName(Layout::kStrided), "strided");
  EXPECT_EQ(LayoutName(Layout::kJagged), "jagged");
  EXPECT_EQ(ParseLayout("torch.strided"), std::nullopt);
}

TEST(MemoryFormatTest, NamesParseBack) {
  for (int i = 0; i < kNumMemoryFormats; ++i) {
    const auto format = static_cast<MemoryFormat>(i);
    EXPECT_EQ(ParseMemoryFormat(MemoryFormatName(format)), format);
  }
  EXPECT_EQ(MemoryFormatName(MemoryFormat::kContiguous), "contiguous_format");
  EXPECT_EQ(MemoryFormatName(MemoryFormat::kChannelsLast3d), "channels_last_3d");
  EXPECT_EQ(ParseMemoryFormat("contiguous"), std::nullopt);
}

}  // namespace
}  // namespace graphnet

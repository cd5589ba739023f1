#include "graphnet/formats/pt2/schema.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"

namespace graphnet::pt2 {
namespace {

// Dtypes by the schema's numbers; kUnknown for unused numbers and for its own "unknown".
constexpr DType kScalarTypes[] = {
    DType::kUnknown,        DType::kUInt8,         DType::kInt8,       DType::kInt16,
    DType::kInt32,          DType::kInt64,         DType::kFloat16,    DType::kFloat32,
    DType::kFloat64,        DType::kComplex32,     DType::kComplex64,  DType::kComplex128,
    DType::kBool,           DType::kBFloat16,      DType::kUnknown,    DType::kUnknown,
    DType::kUnknown,        DType::kUnknown,       DType::kUnknown,    DType::kUnknown,
    DType::kUnknown,        DType::kUnknown,       DType::kUnknown,    DType::kUnknown,
    DType::kUnknown,        DType::kUnknown,       DType::kUnknown,    DType::kUnknown,
    DType::kUInt16,         DType::kFloat8E4M3FN,  DType::kFloat8E5M2, DType::kFloat8E4M3FNUZ,
    DType::kFloat8E5M2FNUZ, DType::kFloat8E8M0FNU, DType::kUInt32,     DType::kUInt64,
};

constexpr std::optional<Layout> kLayouts[] = {
    std::nullopt,       Layout::kSparseCoo, Layout::kSparseCsr, Layout::kSparseCsc,
    Layout::kSparseBsr, Layout::kSparseBsc, Layout::kMkldnn,    Layout::kStrided,
};

constexpr std::optional<MemoryFormat> kMemoryFormats[] = {
    std::nullopt,
    MemoryFormat::kContiguous,
    MemoryFormat::kChannelsLast,
    MemoryFormat::kChannelsLast3d,
    MemoryFormat::kPreserve,
};

template <typename T, size_t n>
int64_t Number(const T (&table)[n], const T& value) {
  const T* const found = std::find(std::begin(table), std::end(table), value);
  return found == std::end(table) ? 0 : found - std::begin(table);
}

template <typename T>
absl::StatusOr<T> Look(Json value, absl::Span<const std::optional<T>> table,
                       absl::string_view what) {
  ASSIGN_OR_RETURN(const int64_t number, value.Int());
  if (number < 0 || static_cast<size_t>(number) >= table.size() || !table[number].has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("no ", what, " has the number ", number));
  }
  return *table[number];
}

absl::StatusOr<int64_t> ReadStaticSize(Json value) {
  ASSIGN_OR_RETURN(const JsonUnion size, ReadUnion(value));
  if (size.kind != "as_int") {
    return absl::InvalidArgumentError("a stored tensor with a symbolic size");
  }
  ASSIGN_OR_RETURN(const int64_t number, size.value.Int());
  if (number < 0) return absl::InvalidArgumentError("a negative size, stride or offset");
  return number;
}

absl::StatusOr<std::vector<int64_t>> ReadStaticSizes(Json list) {
  RETURN_IF_ERROR(list.ExpectArray());
  if (list.size() > kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat(list.size(), " dimensions, over the limit of ", kMaxRank));
  }
  std::vector<int64_t> sizes;
  for (const Json size : list.elements()) {
    ASSIGN_OR_RETURN(sizes.emplace_back(), ReadStaticSize(size));
  }
  return sizes;
}

}  // namespace

absl::StatusOr<absl::string_view> ReadName(Json argument) {
  Json name;
  RETURN_IF_ERROR(ReadFields(argument, {{"name", &name}}));
  return name.String();
}

absl::StatusOr<absl::string_view> NameOfArgument(Json argument) {
  ASSIGN_OR_RETURN(const JsonUnion value, ReadUnion(argument));
  if (value.kind == "as_tensor" || value.kind == "as_custom_obj") return ReadName(value.value);
  if (value.kind == "as_sym_int" || value.kind == "as_sym_float" || value.kind == "as_sym_bool") {
    ASSIGN_OR_RETURN(const JsonUnion named, ReadUnion(value.value));
    if (named.kind == "as_name") return named.value.String();
  }
  return absl::string_view();
}

absl::StatusOr<DType> ReadScalarType(Json value) {
  ASSIGN_OR_RETURN(const int64_t number, value.Int());
  const bool known = number >= 0 && static_cast<size_t>(number) < std::size(kScalarTypes) &&
                     kScalarTypes[number] != DType::kUnknown;
  if (known) return kScalarTypes[number];
  return absl::InvalidArgumentError(absl::StrCat("no dtype has the number ", number));
}

int64_t ScalarTypeNumber(DType dtype) { return Number(kScalarTypes, dtype); }

int64_t LayoutNumber(Layout layout) { return Number(kLayouts, std::optional<Layout>(layout)); }

int64_t MemoryFormatNumber(MemoryFormat format) {
  return Number(kMemoryFormats, std::optional<MemoryFormat>(format));
}

absl::StatusOr<Layout> ReadLayout(Json value) { return Look<Layout>(value, kLayouts, "layout"); }

absl::StatusOr<MemoryFormat> ReadMemoryFormat(Json value) {
  return Look<MemoryFormat>(value, kMemoryFormats, "memory format");
}

absl::StatusOr<Device> ReadDevice(Json value) {
  Json type, index;
  RETURN_IF_ERROR(ReadFields(value, {{"type", &type}, {"index", &index, false}}));
  ASSIGN_OR_RETURN(const absl::string_view name, type.String());
  const std::optional<DeviceType> known = ParseDeviceType(name);
  if (!known) return absl::InvalidArgumentError(absl::StrCat("unknown device ", Printable(name)));
  Device device{*known};
  if (index.is_null()) return device;
  ASSIGN_OR_RETURN(const int64_t number, index.Int());
  if (number < 0 || number > INT16_MAX) {
    return absl::InvalidArgumentError(absl::StrCat("invalid device index ", number));
  }
  device.index = static_cast<int16_t>(number);
  return device;
}

absl::StatusOr<std::optional<int64_t>> ReadBound(Json value) {
  if (value.is_null()) return std::nullopt;
  if (value.kind() == Json::Kind::kDouble && std::isinf(*value.Float())) return std::nullopt;
  return value.Int();
}

absl::StatusOr<StoredTensor> ReadStoredTensor(Json meta) {
  Json dtype, sizes, strides, offset, layout;
  RETURN_IF_ERROR(ReadFields(meta, {{"dtype", &dtype},
                                    {"sizes", &sizes},
                                    {"strides", &strides},
                                    {"storage_offset", &offset},
                                    {"layout", &layout}}));
  StoredTensor tensor;
  ASSIGN_OR_RETURN(tensor.dtype, ReadScalarType(dtype));
  ASSIGN_OR_RETURN(tensor.sizes, ReadStaticSizes(sizes));
  ASSIGN_OR_RETURN(tensor.strides, ReadStaticSizes(strides));
  ASSIGN_OR_RETURN(tensor.offset, ReadStaticSize(offset));
  ASSIGN_OR_RETURN(const Layout kind, ReadLayout(layout));
  if (kind != Layout::kStrided) {
    return absl::InvalidArgumentError(
        absl::StrCat("a tensor of layout ", LayoutName(kind), ", which is not supported"));
  }
  if (tensor.sizes.size() != tensor.strides.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(tensor.sizes.size(), " sizes and ", tensor.strides.size(), " strides"));
  }
  int64_t elements = 1;
  for (const int64_t size : tensor.sizes) {
    if (size != 0 &&
        (__builtin_mul_overflow(elements, size, &elements) || elements > kMaxTensorElements)) {
      return absl::InvalidArgumentError("a tensor of too many elements");
    }
  }
  return tensor;
}

}  // namespace graphnet::pt2

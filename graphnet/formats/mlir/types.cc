#include "graphnet/formats/mlir/types.h"

#include "absl/strings/str_cat.h"
#include "graphnet/ir/scalar_type.h"

namespace graphnet::mlir {
namespace {

struct Row {
  DType dtype;
  absl::string_view element;
};
constexpr Row kRows[] = {
    {DType::kUInt8, "ui8"},
    {DType::kInt8, "si8"},
    {DType::kInt16, "si16"},
    {DType::kInt32, "si32"},
    {DType::kInt64, "si64"},
    {DType::kFloat16, "f16"},
    {DType::kFloat32, "f32"},
    {DType::kFloat64, "f64"},
    {DType::kComplex32, "complex<f16>"},
    {DType::kComplex64, "complex<f32>"},
    {DType::kComplex128, "complex<f64>"},
    {DType::kBool, "i1"},
    {DType::kBFloat16, "bf16"},
    {DType::kFloat8E5M2, "f8E5M2"},
    {DType::kFloat8E4M3FN, "f8E4M3FN"},
    {DType::kFloat8E5M2FNUZ, "f8E5M2FNUZ"},
    {DType::kFloat8E4M3FNUZ, "f8E4M3FNUZ"},
};

const Row* FindRow(DType dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

}  // namespace

absl::string_view ElementType(DType dtype) {
  const Row* const row = FindRow(dtype);
  return row == nullptr ? absl::string_view() : row->element;
}

absl::string_view BuiltinElementType(DType dtype) {
  const absl::string_view element = ElementType(dtype);
  const bool has_sign = !element.empty() && (element[0] == 's' || element[0] == 'u');
  return has_sign ? element.substr(1) : element;
}

std::optional<std::string> TensorType(const TensorMeta* meta) {
  if (meta == nullptr || !meta->has_shape) return std::nullopt;
  const absl::string_view element = ElementType(meta->dtype);
  if (element.empty()) return std::nullopt;
  std::string text = "!torch.vtensor<[";
  for (size_t i = 0; i < meta->shape.size(); ++i) {
    const Dim& dim = meta->shape[i];
    absl::StrAppend(&text, i == 0 ? "" : ",", dim.is_static() ? absl::StrCat(dim.value) : "?");
  }
  return absl::StrCat(text, "],", element, ">");
}

std::optional<std::string> BuiltinTensorType(const TensorMeta& meta) {
  const absl::string_view element = BuiltinElementType(meta.dtype);
  if (!meta.is_static() || element.empty()) return std::nullopt;
  std::string text = "tensor<";
  for (const Dim& dim : meta.shape) absl::StrAppend(&text, dim.value, "x");
  return absl::StrCat(text, element, ">");
}

std::optional<int64_t> ScalarTypeNumber(DType dtype) {
  return FindRow(dtype) == nullptr ? std::nullopt : TorchScalarType(dtype);
}

}  // namespace graphnet::mlir

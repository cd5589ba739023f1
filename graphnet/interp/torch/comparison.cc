#include "graphnet/interp/torch/comparison.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "ATen/Functions.h"
#include "ATen/core/Tensor.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "graphnet/interp/torch/status.h"

namespace graphnet {
namespace {

// Elements that are compared at a time: a large tensor as doubles would need too much memory.
constexpr int64_t kChunk = int64_t{1} << 20;

}  // namespace

at::Tensor OwnMemory(const at::Tensor& plain, const at::Tensor& tensor) {
  return tensor.has_storage() && plain.is_alias_of(tensor) ? plain.clone() : plain;
}

at::Tensor DoublesOf(const at::Tensor& tensor) {
  return (tensor.is_complex() ? at::view_as_real(tensor) : tensor).to(at::kDouble);
}

bool IsReadable(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.is_meta()) return false;
  return tensor.layout() != at::kStrided || tensor.is_nested() || tensor.has_storage();
}

at::Tensor PlainTensor(const at::Tensor& tensor) {
  at::Tensor plain = tensor.detach();
  if (plain.is_nested()) {
    std::vector<at::Tensor> parts;
    for (const at::Tensor& part : plain.unbind()) parts.push_back(PlainTensor(part).flatten());
    return parts.empty() ? at::empty({0}, plain.scalar_type()) : at::cat(parts);
  }
  if (plain.layout() != at::kStrided) plain = plain.to_dense();
  if (plain.is_quantized()) plain = plain.dequantize();
  return plain.resolve_conj().resolve_neg().cpu().contiguous();
}

std::optional<size_t> DigestOf(const c10::IValue& value) {
  if (value.isInt()) return absl::HashOf(value.toInt());
  if (value.isDouble()) return absl::HashOf(value.toDouble());
  if (value.isBool()) return absl::HashOf(value.toBool());
  if (!value.isTensor() || !IsReadable(value.toTensor())) return std::nullopt;
  const at::Tensor& tensor = value.toTensor();
  const at::Tensor plain = PlainTensor(tensor);
  return absl::HashOf(
      static_cast<int>(tensor.scalar_type()), plain.sizes().vec(),
      absl::string_view(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes()));
}

absl::StatusOr<TensorDifference> DifferenceOf(const at::Tensor& a, const at::Tensor& b,
                                              const Tolerance& tolerance) {
  return Guarded([&]() -> absl::StatusOr<TensorDifference> {
    TensorDifference made;
    const at::Tensor x = PlainTensor(a).flatten();
    const at::Tensor y = PlainTensor(b).flatten();
    const bool complex = x.is_complex() || y.is_complex();
    const at::ScalarType wide = complex ? at::kComplexDouble : at::kDouble;
    double sum = 0;
    for (int64_t first = 0; first < x.numel(); first += kChunk) {
      const int64_t count = std::min(kChunk, x.numel() - first);
      const at::Tensor s = x.narrow(0, first, count).to(wide);
      const at::Tensor t = y.narrow(0, first, count).to(wide);
      const at::Tensor same = s.eq(t).logical_or(s.isnan().logical_and(t.isnan()));
      const at::Tensor distance = at::sub(s, t).abs().masked_fill(same, 0).nan_to_num(
          std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity());
      made.largest = std::max(made.largest, distance.max().item<double>());
      sum += distance.sum().item<double>();
      const at::Tensor size = s.abs().nan_to_num(0, 0, 0);
      made.magnitude = std::max(made.magnitude, size.max().item<double>());
      made.beyond +=
          distance.gt(size.mul(tolerance.rtol).add(tolerance.atol)).sum().item<int64_t>();
      made.elements += count - same.sum().item<int64_t>();
    }
    if (x.numel() > 0) made.mean = sum / static_cast<double>(x.numel());
    return made;
  });
}

}  // namespace graphnet

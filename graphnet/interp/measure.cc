#include "graphnet/interp/measure.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ATen/Functions.h"
#include "graphnet/interp/torch/types.h"

namespace graphnet {
namespace {

// Elements that are converted to doubles at once.
constexpr int64_t kPart = int64_t{1} << 16;

// Returns the statistics of some elements.
ValueStatistics OfPart(const double* begin, int64_t size) {
  ValueStatistics part;
  part.elements = size;
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) {
    const double x = begin[i];
    if (std::isnan(x)) {
      ++part.nans;
      continue;
    }
    if (std::isinf(x)) {
      ++part.infinities;
      continue;
    }
    part.zeros += x == 0 ? 1 : 0;
    part.min = std::min(part.min, x);
    part.max = std::max(part.max, x);
    sum += x;
    ++part.finite;
  }
  if (part.finite == 0) return part;
  part.mean = sum / static_cast<double>(part.finite);
  for (int64_t i = 0; i < size; ++i) {
    if (std::isfinite(begin[i])) part.squares += (begin[i] - part.mean) * (begin[i] - part.mean);
  }
  return part;
}

}  // namespace

std::optional<ValueStatistics> Measure(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return std::nullopt;
  const at::Tensor& tensor = value.toTensor();
  if (tensor.unsafeGetTensorImpl()->key_set().has(c10::DispatchKey::FuncTorchBatched) ||
      tensor.is_nested() || tensor.layout() != c10::kStrided || tensor.is_quantized() ||
      tensor.is_meta()) {
    return std::nullopt;
  }
  ValueStatistics all;
  all.dtype = DTypeOf(tensor.scalar_type());
  all.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
  if (tensor.is_complex()) {
    all.elements = tensor.numel();
    return all;
  }
  const at::Tensor flat = tensor.detach().contiguous().view({-1});
  for (int64_t first = 0; first < flat.numel(); first += kPart) {
    const at::Tensor part = flat.slice(0, first, std::min(first + kPart, flat.numel()))
                                .to(c10::kCPU, at::kDouble)
                                .contiguous();
    all.Add(OfPart(part.const_data_ptr<double>(), part.numel()));
  }
  return all;
}

}  // namespace graphnet

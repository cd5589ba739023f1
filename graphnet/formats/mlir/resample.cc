#include "graphnet/formats/mlir/resample.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace graphnet::mlir {
namespace {

// The coefficient of cubic convolution, as in PyTorch.
constexpr float kA = -0.75F;

float Near(float x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; }         // |x| <= 1
float Far(float x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; }  // 1 < |x| < 2

}  // namespace

// Follows ATen/native/UpSample.h and cpu/UpSampleKernel.cpp.
std::vector<Tap> TapsOf(const Resampling& r) {
  const auto from = static_cast<float>(r.from);
  float scale = r.factor > 0 ? static_cast<float>(1.0 / r.factor) : from / static_cast<float>(r.to);
  if (r.align_corners) {
    scale = r.to > 1 ? static_cast<float>(r.from - 1) / static_cast<float>(r.to - 1) : 0;
  }
  const bool is_nearest = r.mode == "nearest" || r.mode == "nearest-exact";
  const bool is_linear = r.mode == "linear";
  std::vector<Tap> taps(is_nearest ? 1 : is_linear ? 2 : 4);
  const auto add = [&](size_t tap, int64_t index, float weight) {
    taps[tap].indices.push_back(std::clamp<int64_t>(index, 0, r.from - 1));
    taps[tap].weights.push_back(weight);
  };
  for (int64_t i = 0; i < r.to; ++i) {
    const auto at = static_cast<float>(i);
    if (is_nearest) {
      const float where = r.mode == "nearest" ? at * scale : (at + 0.5F) * scale;
      add(0, static_cast<int64_t>(std::floor(where)), 1.0F);
      continue;
    }
    float where = r.align_corners ? scale * at : scale * (at + 0.5F) - 0.5F;
    if (is_linear) where = std::max(where, 0.0F);
    const int64_t index = std::min(static_cast<int64_t>(std::floor(where)), r.from - 1);
    const float rest = std::clamp(where - static_cast<float>(index), 0.0F, 1.0F);
    if (is_linear) {
      add(0, index, 1 - rest);
      add(1, index + 1, rest);
    } else {
      add(0, index - 1, Far(rest + 1));
      add(1, index, Near(rest));
      add(2, index + 1, Near(1 - rest));
      add(3, index + 2, Far(2 - rest));
    }
  }
  return taps;
}

std::vector<Tap> MeanTaps(int64_t from, int64_t to) {
  std::vector<Tap> taps;
  for (int64_t i = 0; i < to; ++i) {
    const int64_t begin = i * from / to, end = ((i + 1) * from + to - 1) / to;
    taps.resize(std::max(taps.size(), static_cast<size_t>(end - begin)));
  }
  for (int64_t i = 0; i < to; ++i) {
    const int64_t begin = i * from / to, end = ((i + 1) * from + to - 1) / to;
    for (size_t k = 0; k < taps.size(); ++k) {
      const int64_t index = begin + static_cast<int64_t>(k);
      taps[k].indices.push_back(index < end ? index : begin);
      taps[k].weights.push_back(index < end ? 1.0 / static_cast<double>(end - begin) : 0);
    }
  }
  return taps;
}

}  // namespace graphnet::mlir

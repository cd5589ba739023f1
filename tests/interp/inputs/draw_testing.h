// Draws single tensors for tests.
#ifndef TESTS_INTERP_INPUTS_DRAW_TESTING_H_
#define TESTS_INTERP_INPUTS_DRAW_TESTING_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/inputs/generator.h"
#include "graphnet/ir/module.h"
#include "tests/base/status_matchers.h"

namespace graphnet {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

inline constexpr DrawOptions kGraphNet = {.seed = 1, .compat = Compat::kGraphNet};
inline constexpr DrawOptions kBench = {.seed = 1, .compat = Compat::kBench};

inline DrawSpec MeanStd(double mean, double std) {
  DrawSpec spec;
  spec.has_mean = spec.has_std = true;
  spec.mean = mean;
  spec.std = std;
  return spec;
}

inline DrawSpec Bounds(Argument min, Argument max) {
  DrawSpec spec;
  spec.min = min;
  spec.max = max;
  return spec;
}

// Draws a tensor of one dimension, named "x".
inline absl::StatusOr<TensorData> Draw(DType dtype, int64_t n, const DrawSpec& spec,
                                       const DrawOptions& options = kGraphNet) {
  const Dim shape[] = {n};
  TensorMeta meta;
  meta.dtype = dtype;
  meta.has_shape = true;
  meta.shape = shape;
  return DrawTensor(meta, &spec, "x", options);
}

template <typename T>
std::vector<T> Elements(const TensorData& tensor) {
  std::vector<T> out(tensor.bytes->size() / sizeof(T));
  std::memcpy(out.data(), tensor.bytes->data(), tensor.bytes->size());
  return out;
}

// Draws the tensor and returns its elements; `dtype` is stored as T.
template <typename T>
std::vector<T> DrawElements(DType dtype, int64_t n, const DrawSpec& spec,
                            const DrawOptions& options = kGraphNet) {
  const absl::StatusOr<TensorData> tensor = Draw(dtype, n, spec, options);
  EXPECT_OK(tensor);
  if (!tensor.ok()) return {};
  EXPECT_EQ(tensor->dtype, dtype);
  EXPECT_THAT(tensor->shape, testing::ElementsAre(n));
  EXPECT_EQ(tensor->bytes->size(), static_cast<size_t>(n) * sizeof(T));
  return Elements<T>(*tensor);
}

inline std::string Error(const absl::StatusOr<TensorData>& tensor) {
  return std::string(tensor.status().message());
}

// Returns the normal numbers from which "x" is drawn with seed 1.
inline std::vector<float> Normals(size_t n, uint8_t stream = 0) {
  std::vector<float> out(n);
  Generator(1, "x", stream).Normal(0, absl::MakeSpan(out));
  return out;
}

}  // namespace graphnet

#endif  // TESTS_INTERP_INPUTS_DRAW_TESTING_H_

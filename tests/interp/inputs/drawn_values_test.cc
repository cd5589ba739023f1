#include "graphnet/interp/inputs/drawn_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "graphnet/interp/inputs/draw.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

struct Case {
  DType dtype;
  DrawSpec spec;
};

DrawSpec Normal(double mean, double std, Argument min = {}, Argument max = {}) {
  DrawSpec spec;
  spec.has_mean = spec.has_std = true;
  spec.mean = mean;
  spec.std = std;
  spec.min = min;
  spec.max = max;
  return spec;
}

// Draws 100,000 elements, as doubles.
std::vector<double> Draw(DType dtype, const DrawSpec& spec) {
  TensorMeta meta;
  meta.dtype = dtype;
  meta.has_shape = true;
  const Dim sizes[] = {100000};
  meta.shape = sizes;
  const auto tensor = DrawTensor(meta, &spec, "x", {});
  EXPECT_OK(tensor);
  std::vector<double> values;
  if (!tensor.ok()) return values;
  const auto read = [&](auto sample) {
    for (size_t i = 0; i + sizeof(sample) <= tensor->bytes->size(); i += sizeof(sample)) {
      std::memcpy(&sample, tensor->bytes->data() + i, sizeof(sample));
      values.push_back(static_cast<double>(sample));
    }
  };
  switch (tensor->dtype) {
    case DType::kFloat64: read(double{}); break;
    case DType::kFloat32: read(float{}); break;
    case DType::kInt64: read(int64_t{}); break;
    default: ADD_FAILURE() << DTypeName(tensor->dtype);
  }
  return values;
}

TEST(DrawnValuesTest, MatchDrawnElements) {
  const auto number = [](double value) { return Argument(value); };
  const auto integer = [](int64_t value) { return Argument(value); };
  for (const Case& c :
       {Case{DType::kFloat32, Normal(0.5, 2)}, Case{DType::kFloat64, Normal(-3, 0.1)},
        Case{DType::kFloat32, Normal(0.5, 0)}, Case{DType::kFloat32, Normal(0, 0)},
        Case{DType::kFloat32, Normal(0.5, 2, integer(0))},
        Case{DType::kFloat32, Normal(0.5, 2, {}, number(0))},
        Case{DType::kFloat32, Normal(0.5, 2, number(0.25), number(0.75))},
        Case{DType::kFloat32, Normal(90, 50)}, Case{DType::kFloat64, Normal(NAN, 1, integer(1))},
        Case{DType::kFloat32, Normal(1, NAN)}, Case{DType::kFloat32, DrawSpec()},
        Case{DType::kInt64, Normal(0, 1, integer(-2), integer(5))},
        Case{DType::kInt64, Normal(0, 1, integer(2), integer(5))},
        Case{DType::kInt64, Normal(0, 1)}, Case{DType::kInt64, Normal(7, 0)}}) {
    const DrawnValues values = ValuesOf(c.dtype, c.spec);
    const std::vector<double> drawn = Draw(c.dtype, c.spec);
    ASSERT_FALSE(drawn.empty());
    const auto [min, max] = std::minmax_element(drawn.begin(), drawn.end());
    SCOPED_TRACE(testing::Message() << DTypeName(c.dtype) << " " << c.spec.mean << " " << c.spec.std
                                    << ": " << *min << " to " << *max);
    EXPECT_LE(values.min, *min + 1e-6);
    EXPECT_GE(values.max, *max - 1e-6);
    // The bounds are tight: some of 100,000 elements deviate by four times a fifth of the std.
    const bool is_finite = std::isfinite(c.spec.std) && c.spec.has_std;
    const double slack = 0.5 * (is_finite ? c.spec.std : 0.1) + 1e-6;
    EXPECT_LE(*min - values.min, slack);
    EXPECT_LE(values.max - *max, slack);
    EXPECT_EQ(values.has_zero, std::count(drawn.begin(), drawn.end(), 0.0) > 0);
  }
}

TEST(DrawnValuesTest, Literals) {
  DrawSpec spec = Normal(5, 1, Argument(int64_t{2}));
  const Argument data[] = {Argument(1.5), Argument(int64_t{0}), Argument(-2.5)};
  spec.data = Argument::List(data);
  const DrawnValues values = ValuesOf(DType::kFloat32, spec);
  EXPECT_EQ(values.min, -2.5);
  EXPECT_EQ(values.max, 1.5);
  EXPECT_TRUE(values.has_zero);
  EXPECT_TRUE(values.is_fixed);
}

}  // namespace
}  // namespace graphnet

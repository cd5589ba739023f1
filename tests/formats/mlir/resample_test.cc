// Compares taps with the results of LibTorch's kernels.
#include "graphnet/formats/mlir/resample.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "ATen/ATen.h"

namespace graphnet {
namespace {

using mlir::Resampling;
using mlir::Tap;

at::Tensor SumOf(const at::Tensor& x, const std::vector<Tap>& taps) {
  at::Tensor sum;
  for (const Tap& tap : taps) {
    const at::Tensor weights = at::tensor(tap.weights, at::kFloat);
    const at::Tensor part = x.index_select(2, at::tensor(tap.indices, at::kLong)) * weights;
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

at::Tensor Resampled(const at::Tensor& x, const Resampling& resampling) {
  return SumOf(x, TapsOf(resampling));
}

TEST(ResampleTest, EveryModeIsAsInLibTorch) {
  at::manual_seed(0);
  int cases = 0;
  for (const int64_t from : {1, 2, 5, 7, 16}) {
    for (const int64_t to : {1, 3, 7, 10, 23, 32}) {
      const at::Tensor x = at::randn({1, 2, from});
      const at::IntArrayRef sizes(&to, 1);
      const std::vector<int64_t> image = {2, to};
      const auto near = [&](const at::Tensor& expected, const Resampling& resampling) {
        const at::Tensor actual = Resampled(x, resampling);
        ASSERT_EQ(actual.sizes(), expected.sizes());
        EXPECT_TRUE(at::allclose(actual, expected, 1e-6, 2e-6))
            << resampling.mode << " " << from << " " << to << "\n"
            << actual << expected;
        ++cases;
      };
      near(at::upsample_nearest1d(x, sizes), {.mode = "nearest", .from = from, .to = to});
      near(at::_upsample_nearest_exact1d(x, sizes),
           {.mode = "nearest-exact", .from = from, .to = to});
      for (const bool align : {false, true}) {
        near(at::upsample_linear1d(x, sizes, align),
             {.mode = "linear", .align_corners = align, .from = from, .to = to});
        // LibTorch has a cubic kernel for images only, so use an image of two equal rows.
        const at::Tensor rows = x.unsqueeze(2).expand({1, 2, 2, from});
        near(at::upsample_bicubic2d(rows, at::IntArrayRef(image), align).select(2, 0),
             {.mode = "cubic", .align_corners = align, .from = from, .to = to});
      }
    }
    // The factor differs from the ratio of the sizes.
    for (const double factor : {0.7, 1.5, 2.3}) {
      const at::Tensor x = at::randn({1, 2, from});
      const auto to = static_cast<int64_t>(static_cast<double>(from) * factor);
      if (to == 0) continue;
      const at::Tensor expected =
          at::upsample_linear1d(x, at::IntArrayRef(&to, 1), false, std::optional<double>(factor));
      EXPECT_TRUE(
          at::allclose(Resampled(x, {.mode = "linear", .from = from, .to = to, .factor = factor}),
                       expected, 1e-6, 2e-6));
      EXPECT_TRUE(at::equal(
          Resampled(x, {.mode = "nearest", .from = from, .to = to, .factor = factor}),
          at::upsample_nearest1d(x, at::IntArrayRef(&to, 1), std::optional<double>(factor))));
    }
  }
  EXPECT_EQ(cases, 5 * 6 * 6);
}

TEST(ResampleTest, MeansAreAsInLibTorch) {
  at::manual_seed(0);
  for (int64_t from = 1; from < 40; ++from) {
    for (const int64_t to : {1, 2, 3, 6, 7, 12, 50}) {
      const at::Tensor x = at::randn({1, 2, from});
      const at::Tensor expected = at::adaptive_avg_pool1d(x, at::IntArrayRef(&to, 1));
      const at::Tensor actual = SumOf(x, mlir::MeanTaps(from, to));
      ASSERT_EQ(actual.sizes(), expected.sizes());
      EXPECT_TRUE(at::allclose(actual, expected, 1e-6, 1e-6)) << from << " " << to;
    }
  }
}

}  // namespace
}  // namespace graphnet

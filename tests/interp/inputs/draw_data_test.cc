// Literal data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/inputs/float16.h"
#include "graphnet/ir/module.h"
#include "tests/base/status_matchers.h"
#include "tests/interp/inputs/draw_testing.h"

namespace graphnet {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
std::vector<T> FromData(DType dtype, const std::vector<Argument>& data, DrawSpec spec = {}) {
  spec.data = Argument::List(data);
  return DrawElements<T>(dtype, static_cast<int64_t>(data.size()), spec);
}

std::string DataError(DType dtype, Argument element) {
  DrawSpec spec;
  spec.data = Argument::List({&element, 1});
  return Error(Draw(dtype, 1, spec));
}

TEST(DrawDataTest, NumbersOfEveryKind) {
  const std::vector<Argument> data = {true, false, 3, -2, 1.5, -0.0};
  EXPECT_THAT(FromData<float>(DType::kFloat32, data), ElementsAre(1, 0, 3, -2, 1.5, 0));
  EXPECT_THAT(FromData<double>(DType::kFloat64, data), ElementsAre(1, 0, 3, -2, 1.5, 0));
  EXPECT_THAT(FromData<int64_t>(DType::kInt64, data), ElementsAre(1, 0, 3, -2, 1, 0));
  EXPECT_THAT(FromData<int8_t>(DType::kInt8, data), ElementsAre(1, 0, 3, -2, 1, 0));
  EXPECT_THAT(FromData<uint8_t>(DType::kBool, data), ElementsAre(1, 0, 1, 1, 1, 0));
  EXPECT_THAT(FromData<uint16_t>(DType::kFloat16, data),
              ElementsAre(0x3C00, 0, 0x4200, 0xC000, 0x3E00, 0x8000));
  EXPECT_THAT(FromData<uint16_t>(DType::kBFloat16, data),
              ElementsAre(0x3F80, 0, 0x4040, 0xC000, 0x3FC0, 0x8000));
}

TEST(DrawDataTest, InfinityAndNan) {
  const std::vector<Argument> data = {kInfinity, -kInfinity, kNan};
  const std::vector<float> floats = FromData<float>(DType::kFloat32, data);
  EXPECT_EQ(floats[0], kInfinity);
  EXPECT_EQ(floats[1], -kInfinity);
  EXPECT_TRUE(std::isnan(floats[2]));
  EXPECT_THAT(FromData<uint16_t>(DType::kFloat16, data), ElementsAre(0x7C00, 0xFC00, 0x7E00));
  EXPECT_THAT(FromData<uint8_t>(DType::kBool, data), Each(1));
}

TEST(DrawDataTest, IsNotClamped) {
  EXPECT_THAT(FromData<float>(DType::kFloat32, {-5, 1000.0}, Bounds(0, 1)), ElementsAre(-5, 1000));
  EXPECT_THAT(FromData<int64_t>(DType::kInt64, {-5, 1000}, Bounds(0, {})), ElementsAre(-5, 1000));
}

TEST(DrawDataTest, IntegersAtTheEndsOfTheDType) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(FromData<int64_t>(DType::kInt64, {kMin, kMax, -0x1p63}),
              ElementsAre(kMin, kMax, kMin));
  EXPECT_THAT(FromData<uint64_t>(DType::kUInt64, {kMax, 0x1p63, -0.5}),
              ElementsAre(uint64_t{kMax}, uint64_t{1} << 63, 0));
  EXPECT_THAT(FromData<int8_t>(DType::kInt8, {-128, 127, 127.9, -128.9}),
              ElementsAre(-128, 127, 127, -128));
  EXPECT_EQ(DataError(DType::kInt8, 128), "input x: its data holds 128, beyond int8");
  EXPECT_THAT(DataError(DType::kInt8, -129.0), HasSubstr("-129, beyond int8"));
  EXPECT_THAT(DataError(DType::kUInt8, -1), HasSubstr("-1, beyond uint8"));
  EXPECT_THAT(DataError(DType::kInt64, 0x1p63), HasSubstr("beyond int64"));
  EXPECT_THAT(DataError(DType::kInt64, kInfinity), HasSubstr("inf, beyond int64"));
  EXPECT_THAT(DataError(DType::kInt64, kNan), HasSubstr("nan, beyond int64"));
}

TEST(DrawDataTest, FloatsBeyondTheDTypeBecomeInfinite) {
  EXPECT_THAT(FromData<float>(DType::kFloat32, {1e300}), ElementsAre(kInfinity));
  EXPECT_THAT(FromData<uint16_t>(DType::kFloat16, {65519.9, 7e4}), ElementsAre(0x7BFF, 0x7C00));
}

// Torch rounds to float first: 1 + 2^-11 + 2^-40 is above the midpoint of two halves, but
// the nearest float is the midpoint.
TEST(DrawDataTest, HalvesAreRoundedViaFloat) {
  EXPECT_THAT(FromData<uint16_t>(DType::kFloat16, {1 + 0x1p-11 + 0x1p-40}), ElementsAre(0x3C00));
}

TEST(DrawDataTest, ComplexNumbersAreReal) {
  DrawSpec spec;
  const Argument data[] = {1.5, -2};
  spec.data = Argument::List(data);
  const absl::StatusOr<TensorData> tensor = Draw(DType::kComplex64, 2, spec);
  ASSERT_OK(tensor);
  EXPECT_THAT(Elements<float>(*tensor), ElementsAre(1.5, 0, -2, 0));
}

TEST(DrawDataTest, MoreThanAChunk) {
  std::vector<Argument> data;
  for (int i = 0; i < 3000; ++i) data.push_back(i);
  const std::vector<int32_t> values = FromData<int32_t>(DType::kInt32, data);
  for (int i = 0; i < 3000; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], i);
}

TEST(DrawDataTest, MustFitTheShape) {
  DrawSpec spec;
  const Argument data[] = {1, 2, 3};
  spec.data = Argument::List(data);
  EXPECT_EQ(Error(Draw(DType::kFloat32, 4, spec)), "input x: its data has 3 elements, its shape 4");
  EXPECT_THAT(Error(Draw(DType::kFloat32, 0, spec)), HasSubstr("3 elements"));
  spec.data = Argument::List({});
  EXPECT_OK(Draw(DType::kFloat32, 0, spec));
  EXPECT_THAT(Error(Draw(DType::kFloat32, 1, spec)), HasSubstr("0 elements"));
  EXPECT_THAT(DataError(DType::kFloat32, "a"), HasSubstr("values other than numbers"));
  spec.data = Argument(3);
  EXPECT_THAT(Error(Draw(DType::kFloat32, 1, spec)), HasSubstr("its data is not a list"));
}

}  // namespace
}  // namespace graphnet

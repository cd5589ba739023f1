// A drawn tensor depends on its name and the seed; these tests say which shapes, sizes and dtypes are
// drawn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/ir/module.h"
#include "tests/base/status_matchers.h"
#include "tests/interp/inputs/draw_testing.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;

// --- What a value depends on ---------------------------------------------------

TEST(DrawTensorTest, DependsOnSeedAndKeyOnly) {
  const auto draw = [](absl::string_view name, absl::string_view original, uint64_t seed) {
    const Dim shape[] = {3, 50};
    TensorMeta meta;
    meta.dtype = DType::kFloat32;
    meta.has_shape = true;
    meta.shape = shape;
    DrawSpec spec;
    spec.original_name = original;
    const absl::StatusOr<TensorData> tensor = DrawTensor(meta, &spec, name, {.seed = seed});
    EXPECT_OK(tensor);
    EXPECT_THAT(tensor->shape, ElementsAre(3, 50));
    return Elements<float>(*tensor);
  };
  const std::vector<float> x = draw("x", "", 1);
  EXPECT_EQ(draw("x", "", 1), x);
  EXPECT_EQ(draw("renamed", "x", 1), x);
  EXPECT_NE(draw("x", "y", 1), x);
  EXPECT_NE(draw("y", "", 1), x);
  EXPECT_NE(draw("x", "", 2), x);
}

TEST(DrawTensorTest, AnElementDependsOnItsIndexAlone) {
  const std::vector<float> all = DrawElements<float>(DType::kFloat32, 5000, MeanStd(1, 2));
  for (const int64_t n : {1, 3, 1023, 1024, 1025, 4999}) {
    EXPECT_EQ(DrawElements<float>(DType::kFloat32, n, MeanStd(1, 2)),
              std::vector<float>(all.begin(), all.begin() + n));
  }
}

// --- Shapes, sizes and dtypes --------------------------------------------------

TEST(DrawTensorTest, EveryDTypeIsDrawnOrRefused) {
  int drawn = 0;
  for (int i = 1; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    const absl::StatusOr<TensorData> tensor = Draw(dtype, 5, {}, kBench);
    if (tensor.ok()) {
      ++drawn;
      EXPECT_EQ(tensor->bytes->size(), 5u * static_cast<size_t>(DTypeBytes(dtype)));
    } else {
      EXPECT_THAT(tensor, StatusIs(absl::StatusCode::kUnimplemented,
                                   absl::StrCat("input x: cannot draw ", DTypeName(dtype))));
    }
  }
  EXPECT_EQ(drawn, 20);
  EXPECT_THAT(Draw(DType::kUnknown, 5, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, "input x: its dtype is not known"));
}

absl::StatusOr<TensorData> DrawShape(const std::vector<Dim>& shape, int64_t max_bytes = 4000) {
  TensorMeta meta;
  meta.dtype = DType::kFloat32;
  meta.has_shape = true;
  meta.shape = shape;
  return DrawTensor(meta, nullptr, "a\nb", {.max_bytes = max_bytes});
}

TEST(DrawTensorTest, ScalarsAndEmptyTensors) {
  const absl::StatusOr<TensorData> scalar = DrawShape({});
  ASSERT_OK(scalar);
  EXPECT_TRUE(scalar->shape.empty());
  EXPECT_EQ(scalar->bytes->size(), 4u);
  const absl::StatusOr<TensorData> empty = DrawShape({3, 0, 5}, 0);
  ASSERT_OK(empty);
  EXPECT_THAT(empty->shape, ElementsAre(3, 0, 5));
  EXPECT_EQ(empty->bytes->size(), 0u);
}

TEST(DrawTensorTest, ShapesThatCannotBeDrawnAreErrors) {
  EXPECT_EQ(Error(DrawTensor(TensorMeta(), nullptr, "a\nb", {})),
            "input a\\nb: its shape is not known");
  EXPECT_EQ(Error(DrawShape({2, -1})), "input a\\nb: a size is negative");
  EXPECT_EQ(Error(DrawShape({0, int64_t{1} << 62, 16})), "input a\\nb: it has too many elements");
  EXPECT_EQ(Error(DrawShape({int64_t{1} << 41})), "input a\\nb: it has too many elements");
  EXPECT_EQ(Error(DrawShape(std::vector<Dim>(65, 1))), "input a\\nb: it has too many dimensions");
  EXPECT_OK(DrawShape(std::vector<Dim>(64, 1)));
  Module module;
  module.AddSymbol("S0", 3);
  EXPECT_EQ(Error(DrawShape({module.SymSymbol("S0")})), "input a\\nb: a size is symbolic");
}

TEST(DrawTensorTest, MaxBytesIsTheLimit) {
  EXPECT_OK(DrawShape({10, 100}, 4000));
  EXPECT_THAT(DrawShape({10, 100}, 3999),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "input a\\nb: its 1000 elements of 4 bytes exceed the 3999 bytes that may "
                       "still be drawn"));
}

}  // namespace
}  // namespace graphnet

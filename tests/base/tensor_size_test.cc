#include "graphnet/base/tensor_size.h"

#include <cstdint>
#include <optional>

#include "graphnet/base/limits.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

TEST(TensorSizeTest, SizesOfZeroHideNoOthers) {
  constexpr int64_t kMost = kMaxTensorElements;
  EXPECT_EQ(NumElements({}), 1);
  EXPECT_EQ(NumElements({2, 3, 4}), 24);
  EXPECT_EQ(NumElements({2, 0, 4}), 0);
  EXPECT_EQ(NumElements({kMost}), kMost);
  EXPECT_EQ(NumElements({kMost / 2, 0, 2}), 0);
  EXPECT_EQ(NumElements({kMost, 2}), std::nullopt);
  EXPECT_EQ(NumElements({kMost, 0, 2}), std::nullopt);
  EXPECT_EQ(NumElements({0, int64_t{1} << 62, 4}), std::nullopt);
  EXPECT_EQ(NumElements({int64_t{1} << 62, 4, 0}), std::nullopt);
  EXPECT_EQ(NumElements({0, -1}), std::nullopt);
}

}  // namespace
}  // namespace graphnet

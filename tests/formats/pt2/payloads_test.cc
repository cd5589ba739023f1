#include "graphnet/formats/pt2/payloads.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graphnet/base/strided_copy.h"
#include "gtest/gtest.h"

namespace graphnet::pt2 {
namespace {

using testing::ElementsAre;

StoredTensor Tensor(std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset = 0) {
  return {.dtype = DType::kUInt8,
          .sizes = std::move(sizes),
          .strides = std::move(strides),
          .offset = offset};
}

TensorData Data(std::vector<int64_t> shape, std::string bytes) {
  return {DType::kUInt8, std::move(shape), std::make_shared<const std::string>(std::move(bytes))};
}

std::vector<std::string> PartsOf(const StorageContent& content) {
  std::vector<std::string> parts;
  size_t size = 0;
  for (const SharedBytes& part : content.Parts()) {
    parts.emplace_back(*part);
    size += part->size();
  }
  EXPECT_EQ(size, content.size());
  return parts;
}

TEST(StorageContent, DoesNotCopyATensorThatFillsIt) {
  StorageContent content;
  EXPECT_THAT(PartsOf(content), ElementsAre());
  const TensorData data = Data({2, 3}, "abcdef");
  ASSERT_TRUE(content.Add(Tensor({2, 3}, {3, 1}), data));
  EXPECT_EQ(content.size(), 6u);
  EXPECT_THAT(content.Parts(), ElementsAre(data.bytes));
}

TEST(StorageContent, TensorsSideBySideAreParts) {
  StorageContent content;
  ASSERT_TRUE(content.Add(Tensor({2}, {1}, 5), Data({2}, "fg")));
  ASSERT_TRUE(content.Add(Tensor({1, 3}, {99, 1}), Data({1, 3}, "abc")));
  ASSERT_TRUE(content.Add(Tensor({0}, {1}, 100), Data({0}, "")));
  EXPECT_EQ(content.size(), 7u);
  EXPECT_THAT(PartsOf(content), ElementsAre("abc", std::string(2, '\0'), "fg"));
}

TEST(StorageContent, GathersOtherTensors) {
  StorageContent turned;
  ASSERT_TRUE(turned.Add(Tensor({2, 3}, {1, 2}), Data({2, 3}, "abcdef")));
  ASSERT_TRUE(turned.Add(Tensor({1}, {1}, 7), Data({1}, "x")));
  EXPECT_THAT(PartsOf(turned), ElementsAre(std::string("adbecf\0x", 8)));
  // The bytes added last remain.
  StorageContent overlapping;
  ASSERT_TRUE(overlapping.Add(Tensor({3}, {1}), Data({3}, "abc")));
  ASSERT_TRUE(overlapping.Add(Tensor({2}, {1}, 2), Data({2}, "xy")));
  EXPECT_THAT(PartsOf(overlapping), ElementsAre("abxy"));
}

TEST(StorageContent, RefusesOtherTensors) {
  StorageContent content;
  EXPECT_FALSE(content.Add(Tensor({2}, {1}), Data({3}, "abc")));
  TensorData data = Data({2}, "ab");
  data.dtype = DType::kInt8;
  EXPECT_FALSE(content.Add(Tensor({2}, {1}), data));
  EXPECT_FALSE(content.Add(Tensor({2}, {1}), Data({2}, "abc")));
  EXPECT_FALSE(content.Add(Tensor({4}, {INT64_MAX}), Data({4}, "abcd")));
  // Strides and offsets can reach so far that the gap would take too much memory.
  EXPECT_FALSE(content.Add(Tensor({2}, {int64_t{1} << 40}), Data({2}, "ab")));
  EXPECT_FALSE(content.Add(Tensor({2}, {1}, int64_t{1} << 40), Data({2}, "ab")));
  EXPECT_EQ(content.size(), 0u);
}

// PyTorch takes a depthwise weight in channels_last from the strides of sizes of 1.
TEST(ReadStorage, StridesOfDimensionsOfSizeOneAreKept) {
  for (const std::vector<int64_t>& strides :
       {std::vector<int64_t>{4, 1, 2, 1}, {4, 4, 2, 1}, {4, 9, 2, 1}}) {
    uint64_t spare = 0;
    const auto data = ReadStorage(Tensor({2, 1, 2, 2}, strides),
                                  std::make_shared<const std::string>("abcdefgh"), &spare);
    ASSERT_TRUE(data.ok()) << data.status();
    const bool is_row_major = strides == RowMajorStrides({2, 1, 2, 2});
    EXPECT_EQ(data->strides, is_row_major ? std::vector<int64_t>() : strides);
  }
}

// Sums of elements with gaps between them, of repeated and of overlapping ones round differently.
TEST(ReadStorage, StridesOfGapsAndOverlapsAreKept) {
  for (const std::vector<int64_t>& strides : {std::vector<int64_t>{1, 2}, {4, 2}, {0, 1}, {1, 1}}) {
    uint64_t spare = 100;
    const auto data = ReadStorage(Tensor({2, 3}, strides),
                                  std::make_shared<const std::string>("abcdefghi"), &spare);
    ASSERT_TRUE(data.ok()) << data.status();
    EXPECT_EQ(data->strides, strides);
    EXPECT_EQ(data->bytes->size(), 6u);
  }
  // A column of a large table would take the memory of the table each time.
  uint64_t spare = 0;
  const auto column = ReadStorage(Tensor({2, 1}, {10'000, 1}),
                                  std::make_shared<const std::string>(20'000, 'x'), &spare);
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_TRUE(column->strides.empty());
}

}  // namespace
}  // namespace graphnet::pt2

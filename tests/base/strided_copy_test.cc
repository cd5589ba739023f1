#include "graphnet/base/strided_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ATen.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

using testing::ElementsAre;

// The reference: computes each index by division, one element at a time.
void CopyByIndex(size_t width, const std::vector<int64_t>& sizes, const char* from,
                 const std::vector<int64_t>& from_strides, char* to,
                 const std::vector<int64_t>& to_strides) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, at = 0, target = 0;
    for (size_t d = sizes.size(); d-- > 0;) {
      at += rest % sizes[d] * from_strides[d];
      target += rest % sizes[d] * to_strides[d];
      rest /= sizes[d];
    }
    std::memcpy(to + target * static_cast<int64_t>(width), from + at * static_cast<int64_t>(width),
                width);
  }
}

class Layouts {
 public:
  int64_t Draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }

  std::vector<int64_t> Sizes() {
    std::vector<int64_t> sizes(static_cast<size_t>(Draw(0, 6)));
    int64_t count = 1;
    for (int64_t& size : sizes) {
      size = Draw(0, 30) == 0 ? 0 : Draw(1, Draw(0, 2) == 0 ? 70 : 5);
      if (count * size > 20000) size = 1;
      count *= std::max<int64_t>(size, 1);
    }
    return sizes;
  }

  // Strides in any order, with gaps, negative ones and, if elements may coincide, zeros. `first` is
  // the index of the first element, and `span` is the number of elements that the view covers.
  std::vector<int64_t> Strides(const std::vector<int64_t>& sizes, bool may_repeat, int64_t* first,
                               int64_t* span) {
    std::vector<size_t> order(sizes.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (Draw(0, 3) != 0) std::shuffle(order.begin(), order.end(), engine_);
    std::vector<int64_t> strides(sizes.size());
    int64_t stride = Draw(0, 4) == 0 ? Draw(1, 3) : 1;
    *first = 0;
    for (const size_t d : order) {
      strides[d] = may_repeat && Draw(0, 9) == 0 ? 0 : stride;
      if (strides[d] == 0) continue;
      const int64_t reach = stride * std::max<int64_t>(sizes[d], 1);
      if (Draw(0, 6) == 0) {
        strides[d] = -stride;
        *first += reach - stride;
      }
      stride = reach + (Draw(0, 5) == 0 ? Draw(1, 3) : 0);
    }
    *span = stride;
    return strides;
  }

  std::string Bytes(size_t count) {
    std::string bytes(count, '\0');
    for (char& byte : bytes) byte = static_cast<char>(engine_());
    return bytes;
  }

 private:
  std::mt19937 engine_{1};
};

TEST(StridedCopyTest, CopiesAnyLayoutOfAnyWidth) {
  Layouts layouts;
  for (int round = 0; round < 4000; ++round) {
    constexpr size_t kWidths[] = {1, 2, 4, 8, 16, 3, 24};
    const size_t width = kWidths[round % 7];
    const std::vector<int64_t> sizes = layouts.Sizes();
    int64_t from_first, from_span, to_first, to_span;
    const auto from_strides = layouts.Strides(sizes, true, &from_first, &from_span);
    const auto to_strides = layouts.Strides(sizes, false, &to_first, &to_span);
    const std::string from = layouts.Bytes(static_cast<size_t>(from_span) * width);
    const std::string before = layouts.Bytes(static_cast<size_t>(to_span) * width);
    std::string expected = before, actual = before;
    const char* const begin = from.data() + static_cast<size_t>(from_first) * width;
    const size_t to = static_cast<size_t>(to_first) * width;
    CopyByIndex(width, sizes, begin, from_strides, expected.data() + to, to_strides);
    StridedCopy(width, sizes, begin, from_strides, actual.data() + to, to_strides);
    ASSERT_EQ(actual, expected) << "width " << width << ", sizes " << testing::PrintToString(sizes)
                                << ", strides " << testing::PrintToString(from_strides) << " to "
                                << testing::PrintToString(to_strides);
  }
}

// Rows of every second element, and rows that repeat one element, of every length up to some
// vectors. Memory ends with the last element, so that the sanitizer sees reads behind it.
TEST(StridedCopyTest, RowsOfEachSecondElementAndOfOne) {
  Layouts layouts;
  for (const size_t width : {1, 2, 4, 8, 16}) {
    for (int64_t length = 1; length <= 70; ++length) {
      for (const int64_t stride : {0, 2}) {
        const std::vector<int64_t> sizes = {3, length};
        const int64_t row = stride * length + 1;
        const std::string drawn =
            layouts.Bytes(static_cast<size_t>(2 * row + (length - 1) * stride + 1) * width);
        const std::vector<char> from(drawn.begin(), drawn.end());
        std::string expected(static_cast<size_t>(3 * length) * width, '\0'), actual = expected;
        CopyByIndex(width, sizes, from.data(), {row, stride}, expected.data(), {length, 1});
        StridedCopy(width, sizes, from.data(), {row, stride}, actual.data(), {length, 1});
        ASSERT_EQ(actual, expected) << width << " " << length << " " << stride;
      }
    }
  }
}

// Rows of some lengths have kernels of their own.
TEST(StridedCopyTest, DenseRowsApart) {
  for (const size_t width : {1, 2, 4, 8}) {
    for (const int64_t bytes : {16, 31, 32, 33, 64, 96, 128, 256}) {
      const auto size = bytes / static_cast<int64_t>(width);
      const std::vector<int64_t> sizes = {7, size}, apart = {size + 3, 1}, dense = {size, 1};
      std::vector<char> from(static_cast<size_t>(7 * (size + 3)) * width);
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 37);
      std::vector<char> to(from.size(), 1), wanted(from.size(), 1);
      StridedCopy(width, sizes, from.data(), apart, to.data(), dense);
      CopyByIndex(width, sizes, from.data(), apart, wanted.data(), dense);
      EXPECT_EQ(to, wanted) << width << " " << bytes;
    }
  }
}

TEST(StridedCopyTest, SixtyFourDimensions) {
  // Every fifth dimension has two elements, and the others have one.
  std::vector<int64_t> sizes(64, 1), strides(64);
  for (size_t i = 0; i < sizes.size(); i += 5) sizes[i] = 2;
  int64_t stride = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  std::vector<int32_t> from(static_cast<size_t>(stride)), expected(from.size()), to(from.size());
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<int32_t>(i);
  CopyByIndex(4, sizes, reinterpret_cast<const char*>(from.data()), strides,
              reinterpret_cast<char*>(expected.data()), RowMajorStrides(sizes));
  StridedCopy(4, sizes, from.data(), strides, to.data(), RowMajorStrides(sizes));
  EXPECT_EQ(to, expected);
  EXPECT_NE(to, from);
}

TEST(StridedCopyTest, AsATenCopiesEachDtype) {
  for (const at::ScalarType dtype :
       {at::kBool, at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kUInt16, at::kUInt32,
        at::kUInt64, at::kHalf, at::kBFloat16, at::kFloat, at::kDouble, at::kComplexHalf,
        at::kComplexFloat, at::kComplexDouble, at::kFloat8_e4m3fn, at::kFloat8_e5m2}) {
    // Bits that no arithmetic has touched: signalling nans, negative zeros.
    const at::Tensor bytes = at::randint(0, dtype == at::kBool ? 2 : 256, {1 << 14}, at::kByte);
    const at::Tensor all = bytes.view(dtype).narrow(0, 0, 720).view({6, 10, 12});
    for (const at::Tensor& view :
         {all.permute({2, 1, 0}), all.permute({0, 2, 1}), all.permute({1, 0, 2}),
          all.slice(2, 1, 12, 3), all.select(1, 3), all.transpose(0, 2).slice(0, 2, 9, 2),
          all.select(0, 0).unsqueeze(1).expand({10, 3, 12}), all.diagonal(0, 0, 1)}) {
      at::Tensor copy = at::empty(view.sizes(), view.options());
      StridedCopy(view.element_size(), view.sizes(), view.const_data_ptr(), view.strides(),
                  copy.mutable_data_ptr(), copy.strides());
      const at::Tensor expected = view.contiguous();
      EXPECT_EQ(std::memcmp(copy.const_data_ptr(), expected.const_data_ptr(), expected.nbytes()), 0)
          << dtype << " " << view.sizes() << " " << view.strides();
    }
  }
}

TEST(StridedCopyTest, SpansWhatTorchAllocates) {
  for (const auto& [sizes, strides] :
       std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>>{{{}, {}},
                                                                          {{3}, {2}},
                                                                          {{2, 3}, {0, 1}},
                                                                          {{2, 3}, {1, 1}},
                                                                          {{2, 1, 3}, {3, 99, 1}},
                                                                          {{4, 0}, {1, 7}},
                                                                          {{2, 3, 4}, {1, 2, 6}}}) {
    const at::Tensor tensor = at::empty_strided(sizes, strides, at::kByte);
    EXPECT_EQ(ElementsSpanned(sizes, strides), static_cast<int64_t>(tensor.storage().nbytes()));
    EXPECT_TRUE(AreModestStrides(sizes, strides));
  }
  const int64_t most = std::numeric_limits<int64_t>::max();
  for (const auto& [sizes, strides] :
       std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>>{
           {{2}, {}},
           {{2}, {1, 1}},
           {{2}, {-1}},
           {{-1}, {1}},
           {{2}, {most}},
           {{3}, {most}},
           {{2, 2}, {most / 2, most / 2 + 1}}}) {
    EXPECT_EQ(ElementsSpanned(sizes, strides), std::nullopt);
    EXPECT_FALSE(AreModestStrides(sizes, strides));
  }
  EXPECT_FALSE(AreModestStrides(std::vector<int64_t>{2}, std::vector<int64_t>{1 << 20}));
  EXPECT_TRUE(AreModestStrides(std::vector<int64_t>{1 << 20}, std::vector<int64_t>{8}));
  EXPECT_FALSE(AreModestStrides(std::vector<int64_t>{1 << 20}, std::vector<int64_t>{9}));
}

TEST(StridedCopyTest, RowMajorStridesAreThoseOfTorch) {
  EXPECT_THAT(RowMajorStrides({}), ElementsAre());
  EXPECT_THAT(RowMajorStrides({2, 3, 4}), ElementsAre(12, 4, 1));
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{5}, {2, 0, 3}, {1, 7, 1, 2}, {0, 0}}) {
    EXPECT_EQ(RowMajorStrides(sizes), at::empty(sizes).strides().vec());
  }
  // No tensor has such sizes, but nothing overflows.
  EXPECT_THAT(RowMajorStrides({0, int64_t{1} << 62, 4}),
              ElementsAre(std::numeric_limits<int64_t>::max(), 4, 1));
}

}  // namespace
}  // namespace graphnet

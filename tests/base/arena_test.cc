#include "graphnet/base/arena.h"

#include <complex>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace graphnet {
namespace {

TEST(ArenaTest, ReservesNothingUntilUsed) {
  Arena arena;
  EXPECT_EQ(arena.bytes_reserved(), 0u);
  EXPECT_EQ(arena.NewArray<int>(0), nullptr);
  EXPECT_EQ(arena.Copy(absl::string_view()).size(), 0u);
  EXPECT_TRUE(arena.Copy(absl::Span<const int>()).empty());
  EXPECT_EQ(arena.bytes_reserved(), 0u);
}

TEST(ArenaTest, AlignsWhatItHandsOut) {
  Arena arena;
  for (int i = 0; i < 1000; ++i) {
    for (size_t align : {1, 2, 4, 8, 16}) {
      arena.Allocate(1, 1);  // Out of step.
      const auto p = reinterpret_cast<uintptr_t>(arena.Allocate(24, align));
      EXPECT_EQ(p % align, 0u);
    }
  }
  arena.Allocate(1, 1);
  const auto big = reinterpret_cast<uintptr_t>(arena.Allocate(1 << 20, 16));
  EXPECT_EQ(big % 16, 0u);
}

TEST(ArenaTest, BlocksOfAllSizesDoNotOverlap) {
  Arena arena;
  std::mt19937 random(1);
  std::vector<absl::string_view> copies;
  std::vector<std::string> originals;
  size_t total = 0;
  for (int i = 0; i < 3000; ++i) {
    const size_t size = i % 100 == 0 ? random() % 300000 : random() % 2000;
    originals.emplace_back(size, static_cast<char>('a' + i % 26));
    copies.push_back(arena.Copy(absl::string_view(originals.back())));
    total += size;
  }
  for (size_t i = 0; i < copies.size(); ++i) ASSERT_EQ(copies[i], originals[i]);
  EXPECT_GE(arena.bytes_reserved(), total);
  EXPECT_LE(arena.bytes_reserved(), total + total / 2);
}

TEST(ArenaTest, SmallArenasStaySmall) {
  Arena arena;
  arena.New<int>(1);
  EXPECT_LE(arena.bytes_reserved(), 4096u);
}

TEST(ArenaTest, ConstructsInPlaceAndCopiesSpans) {
  Arena arena;
  const auto* c = arena.New<std::complex<double>>(1.5, -2.5);
  EXPECT_EQ(*c, std::complex<double>(1.5, -2.5));
  const std::vector<int> numbers = {3, 1, 4};
  const absl::Span<const int> copy = arena.Copy(absl::MakeConstSpan(numbers));
  EXPECT_EQ(std::vector<int>(copy.begin(), copy.end()), numbers);
  EXPECT_NE(copy.data(), numbers.data());
}

}  // namespace
}  // namespace graphnet

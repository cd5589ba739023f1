#include "graphnet/interp/inputs/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "absl/types/span.h"

namespace graphnet {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Lt;

std::vector<float> Uniform(const Generator& generator, int64_t first, size_t n) {
  std::vector<float> out(n);
  generator.Uniform(first, absl::MakeSpan(out));
  return out;
}

std::vector<float> Normal(const Generator& generator, int64_t first, size_t n) {
  std::vector<float> out(n);
  generator.Normal(first, absl::MakeSpan(out));
  return out;
}

std::vector<int64_t> Integers(const Generator& generator, int64_t first, size_t n, int64_t min,
                              int64_t max) {
  std::vector<int64_t> out(n);
  generator.Integers(first, min, max, absl::MakeSpan(out));
  return out;
}

// The results are from tests/kat_vectors of Random123, the authors' own library.
TEST(PhiloxTest, GivesTheAuthorsResults) {
  EXPECT_THAT(Philox4x32({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8));
  const uint32_t ones = 0xFFFFFFFF;
  EXPECT_THAT(Philox4x32({ones, ones, ones, ones}, {ones, ones}),
              ElementsAre(0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD));
  EXPECT_THAT(
      Philox4x32({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}),
      ElementsAre(0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1));
}

// The results are from the draft that defines FNV (draft-eastlake-fnv).
TEST(Fnv1aTest, GivesTheAuthorsResults) {
  EXPECT_EQ(Fnv1a(""), 0xCBF29CE484222325);
  EXPECT_EQ(Fnv1a("a"), 0xAF63DC4C8601EC8C);
  EXPECT_EQ(Fnv1a("foobar"), 0x85944171F73967E8);
}

// A second implementation, in Python by the header's description, gave these numbers.
// They must never change: recorded results depend on them.
TEST(GeneratorTest, TheNumbersArePromised) {
  EXPECT_THAT(Normal(Generator(0, "L_x_"), 0, 8),
              ElementsAre(0x1.e6a7dp-1f, -0x1.745f5ep-5f, 0x1.123ee8p+0f, 0x1.d2e12ap+0f,
                          -0x1.331c5p-1f, -0x1.06c6aap+0f, 0x1.fa0c8p-3f, -0x1.0a2816p+1f));
  // This has all bits of the seed, a stream, and an index beyond 32 bits.
  const Generator other(std::numeric_limits<uint64_t>::max(), "L_x_", 1);
  EXPECT_THAT(Normal(other, int64_t{1} << 39, 4),
              ElementsAre(0x1.99e452p-3f, 0x1.b4bbacp-1f, 0x1.9fb168p-4f, 0x1.7fdc4ep+0f));
  EXPECT_THAT(
      Uniform(Generator(7, "mask"), 0, 5),
      ElementsAre(0x1.b745d4p-1f, 0x1.61724p-5f, 0x1.c9a5p-2f, 0x1.54d1ep-2f, 0x1.e240b4p-1f));
  EXPECT_THAT(Integers(Generator(3, "ids"), 0, 8, 0, 50256),
              ElementsAre(22915, 27012, 17175, 29551, 36634, 13226, 4863, 18042));
  EXPECT_THAT(Integers(Generator(3, "ids"), 0, 3, std::numeric_limits<int64_t>::min(),
                       std::numeric_limits<int64_t>::max()),
              ElementsAre(-812193422367684850, 691576092611267730, -2919136167235989192));
  // Elements 2, 3, 4 and 6 are second attempts.
  EXPECT_THAT(Integers(Generator(3, "ids"), 0, 7, -5, (int64_t{1} << 62) + (int64_t{1} << 61)),
              ElementsAre(3154191980432659106, 3718105548549766324, 3641498771275370847,
                          6488404324700883225, 3965502378676783193, 1820551296323942414,
                          5710394365161681610));
}

TEST(GeneratorTest, AnElementDependsOnItsIndexAlone) {
  const Generator generator(1, "x");
  const std::vector<float> uniform = Uniform(generator, 0, 1000);
  const std::vector<float> normal = Normal(generator, 0, 1000);
  const std::vector<int64_t> integers = Integers(generator, 0, 1000, -3, 900);
  for (size_t first = 0; first < 1000; first += 4) {
    for (const size_t n : {size_t{1}, size_t{3}, std::min<size_t>(70, 1000 - first)}) {
      const auto part = [&](const auto& all) {
        return std::vector(all.begin() + static_cast<ptrdiff_t>(first),
                           all.begin() + static_cast<ptrdiff_t>(first + n));
      };
      ASSERT_EQ(Uniform(generator, static_cast<int64_t>(first), n), part(uniform));
      ASSERT_EQ(Normal(generator, static_cast<int64_t>(first), n), part(normal));
      ASSERT_EQ(Integers(generator, static_cast<int64_t>(first), n, -3, 900), part(integers));
    }
  }
}

TEST(GeneratorTest, DependsOnSeedNameAndStream) {
  const std::vector<float> base = Uniform(Generator(1, "x"), 0, 100);
  EXPECT_EQ(Uniform(Generator(1, "x", 0), 0, 100), base);
  for (const Generator& other :
       {Generator(2, "x"), Generator(1 | uint64_t{1} << 63, "x"), Generator(1, "y"),
        Generator(1, ""), Generator(1, "xx"), Generator(1, "x", 1)}) {
    const std::vector<float> values = Uniform(other, 0, 100);
    for (size_t i = 0; i < values.size(); ++i) ASSERT_NE(values[i], base[i]);
  }
}

TEST(GeneratorTest, UniformIsUniform) {
  const size_t n = 1'000'000;
  const std::vector<float> values = Uniform(Generator(1, "u"), 0, n);
  EXPECT_THAT(values, Each(Ge(0.f)));
  EXPECT_THAT(values, Each(Lt(1.f)));
  std::array<int, 16> bins = {};
  for (const float x : values) ++bins[static_cast<size_t>(x * 16)];
  // The tolerance is five standard deviations.
  for (const int count : bins) EXPECT_NEAR(count, n / 16., 5 * std::sqrt(n / 16.));
}

// Standard errors of the first four moments of n normal numbers are sqrt(1/n),
// sqrt(2/n), sqrt(15/n) and sqrt(96/n).
TEST(GeneratorTest, NormalHasTheMomentsOfTheNormalDistribution) {
  const size_t n = 1'000'000;
  const std::vector<float> values = Normal(Generator(1, "n"), 0, n);
  double sums[5] = {};
  double beside = 0, below = 0;
  for (size_t i = 0; i < n; ++i) {
    double power = 1;
    for (double& sum : sums) {
      sum += power;
      power *= values[i];
    }
    if (i > 0) beside += values[i] * values[i - 1];
    below += values[i] < -1;
  }
  const double unit = 5 / std::sqrt(static_cast<double>(n));
  EXPECT_NEAR(sums[1] / n, 0, unit);
  EXPECT_NEAR(sums[2] / n, 1, unit * std::sqrt(2));
  EXPECT_NEAR(sums[3] / n, 0, unit * std::sqrt(15));
  EXPECT_NEAR(sums[4] / n, 3, unit * std::sqrt(96));
  EXPECT_NEAR(beside / n, 0, unit);  // the two elements of a pair are independent
  EXPECT_NEAR(below / n, std::erfc(std::numbers::sqrt2 / 2) / 2, unit * 0.4);
}

// Computes the header's formula from the words of the blocks with the C library's
// functions.
TEST(GeneratorTest, NormalMatchesBoxAndMuller) {
  const uint64_t hash = Fnv1a("x");
  const std::vector<float> values = Normal(Generator(9, "x"), 0, 40000);
  for (uint32_t i = 0; i < values.size(); i += 2) {
    const std::array<uint32_t, 4> block = Philox4x32(
        {i / 4, 0, static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32)}, {9, 0});
    const uint32_t a = block[i % 4], b = block[i % 4 + 1];
    const double r = std::sqrt(-2 * std::log((a + 1.) / 0x1p32));
    double s = (b & 0x3FFFFFFF) / 0x1p30;
    if (s >= 0.5) s -= 1;
    const double t = std::numbers::pi / 2 * ((b >> 30) + s);
    ASSERT_NEAR(values[i], r * std::cos(t), 2e-7 * r) << i;
    ASSERT_NEAR(values[i + 1], r * std::sin(t), 2e-7 * r) << i;
  }
}

TEST(GeneratorTest, IntegersHitEveryNumberOfTheRangeEquallyOften) {
  const int n = 1'000'000;
  std::array<int, 7> counts = {};
  for (const int64_t x : Integers(Generator(1, "i"), 0, n, -3, 3)) {
    ASSERT_GE(x, -3);
    ASSERT_LE(x, 3);
    ++counts[static_cast<size_t>(x + 3)];
  }
  for (const int count : counts) EXPECT_NEAR(count, n / 7., 5 * std::sqrt(n / 7.));
}

TEST(GeneratorTest, IntegersOfARangeOfOne) {
  EXPECT_THAT(Integers(Generator(1, "i"), 0, 5, 42, 42), Each(42));
}

// The product's upper half alone would give a third of the range twice as often as
// the rest: there are 2^64 numbers for 3 * 2^62 offsets.
TEST(GeneratorTest, IntegersOfAHugeRangeAreUnbiased) {
  const int n = 90'000;
  std::array<int, 3> thirds = {};
  const int64_t min = std::numeric_limits<int64_t>::min();
  for (const int64_t x : Integers(Generator(1, "i"), 0, n, min, (int64_t{1} << 62) - 1)) {
    ++thirds[(static_cast<uint64_t>(x) - static_cast<uint64_t>(min)) % 3];
  }
  for (const int count : thirds) EXPECT_NEAR(count, n / 3., 5 * std::sqrt(n / 3.));
}

TEST(GeneratorDeathTest, TheFirstElementBeginsABlock) {
  EXPECT_DEATH(Uniform(Generator(1, "x"), 2, 4), "first % 4");
}

}  // namespace
}  // namespace graphnet

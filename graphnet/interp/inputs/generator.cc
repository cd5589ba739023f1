#include "graphnet/interp/inputs/generator.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "absl/numeric/int128.h"
#include "graphnet/base/check.h"

namespace graphnet {
namespace {

constexpr int kAttemptShift = 40;
constexpr int kStreamShift = 56;

// Blocks that are made together, because the multiplications of one block wait for each other.
constexpr size_t kLanes = 16;
constexpr size_t kBatch = 4 * kLanes;  // their words

// Philox4x32-10 of N counters, word by word.
template <size_t N>
void Encrypt(std::array<uint32_t, 2> key, uint32_t (&counter)[4][N]) {
  for (int round = 0; round < 10; ++round) {
    for (size_t i = 0; i < N; ++i) {
      const uint64_t p = uint64_t{0xD2511F53} * counter[0][i];
      const uint64_t q = uint64_t{0xCD9E8D57} * counter[2][i];
      counter[0][i] = static_cast<uint32_t>(q >> 32) ^ counter[1][i] ^ key[0];
      counter[1][i] = static_cast<uint32_t>(q);
      counter[2][i] = static_cast<uint32_t>(p >> 32) ^ counter[3][i] ^ key[1];
      counter[3][i] = static_cast<uint32_t>(p);
    }
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
}

// Converts x, which must be below 2^52. Ordinary conversions lack vector instructions on some
// machines.
double ToDouble(uint64_t x) {
  return std::bit_cast<double>(uint64_t{0x4330000000000000} | x) - 0x1p52;
}

// Returns the natural logarithm of x in [1, 2^32].
double Log(double x) {
  // x = m 2^e with m in [sqrt(1/2), sqrt(2)).
  constexpr uint64_t kSqrtHalf = 0x3FE6A09E667F3BCD;
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint64_t e = (bits - kSqrtHalf) >> 52;
  const double m = std::bit_cast<double>(bits - (e << 52));
  // ln m = 2 artanh(s), and |s| < 0.172.
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  const double series =
      1 + z * (1. / 3 +
               z * (1. / 5 +
                    z * (1. / 7 + z * (1. / 9 + z * (1. / 11 + z * (1. / 13 + z * (1. / 15)))))));
  return ToDouble(e) * 0x1.62E42FEFA39EFp-1 + 2 * s * series;
}

// Computes Taylor's series on [-pi/4, pi/4].
double Sin(double x) {
  const double z = x * x;
  return x * (1 + z * (-1. / 6 +
                       z * (1. / 120 +
                            z * (-1. / 5040 + z * (1. / 362880 + z * (-1. / 39916800 +
                                                                      z * (1. / 6227020800)))))));
}
double Cos(double x) {
  const double z = x * x;
  return 1 + z * (-1. / 2 +
                  z * (1. / 24 + z * (-1. / 720 +
                                      z * (1. / 40320 +
                                           z * (-1. / 3628800 +
                                                z * (1. / 479001600 + z * (-1. / 87178291200)))))));
}

// Box and Muller's transform. Compilers turn loops of a fixed length without branches
// into vector instructions.
void TransformToNormal(const uint32_t (&words)[kBatch], float (&out)[kBatch]) {
  constexpr size_t kPairs = kBatch / 2;
  uint32_t a[kPairs], b[kPairs];
  for (size_t i = 0; i < kPairs; ++i) {
    a[i] = words[2 * i];
    b[i] = words[2 * i + 1];
  }
  double r[kPairs];
  constexpr double kLog2To32 = 32 * 0x1.62E42FEFA39EFp-1;
  for (size_t i = 0; i < kPairs; ++i) {
    r[i] = std::sqrt(2 * (kLog2To32 - Log(ToDouble(a[i]) + 1)));
  }
  float x[kPairs], y[kPairs];
  constexpr double kHalfPi = 0x1.921FB54442D18p0;
  for (size_t i = 0; i < kPairs; ++i) {
    const double t = static_cast<double>(static_cast<int32_t>(b[i] << 2)) * (kHalfPi * 0x1p-32);
    x[i] = static_cast<float>(r[i] * Cos(t));
    y[i] = static_cast<float>(r[i] * Sin(t));
  }
  // Rotate (x, y) by the quadrants: odd ones swap them, and signs change.
  for (size_t i = 0; i < kPairs; ++i) {
    const uint32_t quadrant = b[i] >> 30;
    const uint32_t p = std::bit_cast<uint32_t>(x[i]);
    const uint32_t q = std::bit_cast<uint32_t>(y[i]);
    const uint32_t exchange = (p ^ q) & (0 - (quadrant & 1));
    const uint32_t sign = 0x80000000;
    out[2 * i] = std::bit_cast<float>(p ^ exchange ^ ((quadrant + 1) << 30 & sign));
    out[2 * i + 1] = std::bit_cast<float>(q ^ exchange ^ (quadrant << 30 & sign));
  }
}

}  // namespace

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  uint32_t lanes[4][1] = {{counter[0]}, {counter[1]}, {counter[2]}, {counter[3]}};
  Encrypt(key, lanes);
  return {lanes[0][0], lanes[1][0], lanes[2][0], lanes[3][0]};
}

uint64_t Fnv1a(absl::string_view text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

Generator::Generator(uint64_t seed, absl::string_view name, uint8_t stream)
    : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
      name_hash_(Fnv1a(name)),
      stream_(stream) {}

// Returns the lower part of a block's counter, below the hash of the name.
uint64_t Generator::Low(uint64_t block, uint64_t attempt) const {
  return block | attempt << kAttemptShift | uint64_t{stream_} << kStreamShift;
}

void Generator::Words(uint64_t first_block, uint32_t* out) const {
  uint32_t counter[4][kLanes];
  for (size_t i = 0; i < kLanes; ++i) {
    const uint64_t low = Low(first_block + i, 0);
    counter[0][i] = static_cast<uint32_t>(low);
    counter[1][i] = static_cast<uint32_t>(low >> 32);
    counter[2][i] = static_cast<uint32_t>(name_hash_);
    counter[3][i] = static_cast<uint32_t>(name_hash_ >> 32);
  }
  Encrypt(key_, counter);
  for (size_t i = 0; i < kLanes; ++i) {
    for (size_t word = 0; word < 4; ++word) out[4 * i + word] = counter[word][i];
  }
}

uint64_t Generator::Retry(uint64_t index, uint64_t attempt) const {
  const uint64_t low = Low(index, attempt);
  const std::array<uint32_t, 4> block =
      Philox4x32({static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                  static_cast<uint32_t>(name_hash_), static_cast<uint32_t>(name_hash_ >> 32)},
                 key_);
  return uint64_t{block[0]} | uint64_t{block[1]} << 32;
}

void Generator::Uniform(int64_t first, absl::Span<float> out) const {
  CHECK(first >= 0 && first % 4 == 0);
  uint32_t words[kBatch];
  for (size_t i = 0; i < out.size(); i += kBatch) {
    Words((static_cast<uint64_t>(first) + i) / 4, words);
    const size_t n = std::min(kBatch, out.size() - i);
    for (size_t j = 0; j < n; ++j) {
      // Convert a signed number, as processors have an instruction for that.
      out[i + j] = static_cast<float>(static_cast<int32_t>(words[j] >> 8)) * 0x1p-24f;
    }
  }
}

void Generator::Normal(int64_t first, absl::Span<float> out) const {
  CHECK(first >= 0 && first % 4 == 0);
  uint32_t words[kBatch];
  float normals[kBatch];
  for (size_t i = 0; i < out.size(); i += kBatch) {
    Words((static_cast<uint64_t>(first) + i) / 4, words);
    const size_t n = std::min(kBatch, out.size() - i);
    TransformToNormal(words, normals);
    std::copy_n(normals, n, out.data() + i);
  }
}

void Generator::Integers(int64_t first, int64_t min, int64_t max, absl::Span<int64_t> out) const {
  CHECK(first >= 0 && first % 4 == 0);
  CHECK(min <= max);
  // 0 stands for 2^64.
  const uint64_t size = static_cast<uint64_t>(max) - static_cast<uint64_t>(min) + 1;
  // 2^64 numbers do not divide evenly: 2^64 % size of them are refused.
  const uint64_t refused = size == 0 ? 0 : (0 - size) % size;
  uint32_t words[kBatch];
  for (size_t i = 0; i < out.size(); i += kBatch / 2) {
    const uint64_t index = static_cast<uint64_t>(first) + i;
    Words(index / 2, words);
    const size_t n = std::min(kBatch / 2, out.size() - i);
    for (size_t j = 0; j < n; ++j) {
      uint64_t random = uint64_t{words[2 * j]} | uint64_t{words[2 * j + 1]} << 32;
      if (size != 0) {
        absl::uint128 product = absl::uint128(random) * size;
        for (uint64_t attempt = 1; absl::Uint128Low64(product) < refused; ++attempt) {
          product = absl::uint128(Retry(index + j, attempt)) * size;
        }
        random = absl::Uint128High64(product);
      }
      out[i + j] = static_cast<int64_t>(static_cast<uint64_t>(min) + random);
    }
  }
}

}  // namespace graphnet

#include "graphnet/interp/inputs/random_noise.h"

#include <cmath>
#include <cstring>

#include "graphnet/interp/inputs/float16.h"

// The loops below are compiled for newer processors, too, and the right one is taken at run time.
#if defined(__x86_64__) && defined(__gnu_linux__)
#define GRAPHNET_FOR_PROCESSORS __attribute__((target_clones("avx2", "default")))
#else
#define GRAPHNET_FOR_PROCESSORS
#endif

namespace graphnet {
namespace {

// Returns an even number in [-1, 1) for element `i`: two rounds of a multiplicative hash, which
// compilers vectorise.
inline float Draw(uint32_t i, uint32_t seed) {
  uint32_t h = (i + seed) * 0x9E3779B1U;
  h ^= h >> 15;
  h *= 0x85EBCA77U;
  h ^= h >> 13;
  h *= 0xC2B2AE3DU;
  return static_cast<float>(static_cast<int32_t>(h)) * 0x1p-31F;
}

inline int32_t Rounded(float x) { return static_cast<int32_t>(x + (x < 0 ? -0.5F : 0.5F)); }

constexpr float kReach = 1.5F;

// Whether a number has a fractional part. All of 2^22 and more count as whole.
inline bool IsWhole(float number) {
  const float size = std::fabs(number);
  const float small = size < 4194304.0F ? size : 0.0F;
  return static_cast<float>(static_cast<int32_t>(small)) == small;
}

// Moves a 16-bit float with `kMantissa` bits behind the point.
template <int kMantissa>
inline uint16_t Moved16(uint16_t bits, int32_t step, bool stays) {
  constexpr int32_t kSmallest = 1 << kMantissa;
  constexpr int32_t kInfinity = (0x7FFF >> kMantissa) << kMantissa;
  const int32_t magnitude = bits & 0x7FFF;
  const int32_t moved = magnitude + step;
  stays |=
      magnitude < kSmallest || magnitude >= kInfinity || moved < kSmallest || moved >= kInfinity;
  return stays ? bits : static_cast<uint16_t>((bits & 0x8000) | moved);
}

// `to_float` returns the number that bits stand for.
template <int kMantissa, typename ToFloat>
inline void AddNoise16(uint16_t* bits, size_t count, uint32_t first, const Noise& noise,
                       ToFloat to_float) {
  const float reach = noise.units * kReach;
  for (size_t i = 0; i < count; ++i) {
    const int32_t step = Rounded(Draw(first + static_cast<uint32_t>(i), noise.seed) * reach);
    const uint16_t old = bits[i];
    bits[i] = Moved16<kMantissa>(old, step, noise.leaves_whole && IsWhole(to_float(old)));
  }
}

// Stops early: most tensors have fractions among their first elements.
template <typename T, typename Check>
bool AreAll(const T* numbers, size_t count, Check check) {
  for (size_t i = 0; i < count; ++i) {
    if (!check(numbers[i])) return false;
  }
  return true;
}

}  // namespace

GRAPHNET_FOR_PROCESSORS
void AddNoiseF32(uint32_t* bits, size_t count, uint32_t first, const Noise& noise) {
  const float reach = noise.units * kReach;
  const uint32_t seed = noise.seed;
  const uint32_t leaves_whole = noise.leaves_whole ? 1 : 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t old = bits[i];
    const auto magnitude = static_cast<int32_t>(old & 0x7FFFFFFFU);
    const int32_t step = Rounded(Draw(first + static_cast<uint32_t>(i), seed) * reach);
    const int32_t moved = magnitude + step;
    float value;
    std::memcpy(&value, &old, sizeof value);
    // The exponents of subnormal numbers, and of infinities and nan. Without branches, so that the
    // loop is vectorised.
    const uint32_t stays = (leaves_whole & static_cast<uint32_t>(IsWhole(value))) |
                           static_cast<uint32_t>(magnitude < 0x00800000) |
                           static_cast<uint32_t>(magnitude >= 0x7F800000) |
                           static_cast<uint32_t>(moved < 0x00800000) |
                           static_cast<uint32_t>(moved >= 0x7F800000);
    const auto made = (old & 0x80000000U) | static_cast<uint32_t>(moved);
    bits[i] = stays != 0 ? old : made;
  }
}

void AddNoiseF64(uint64_t* bits, size_t count, uint32_t first, const Noise& noise) {
  constexpr int64_t kSmallest = int64_t{1} << 52;
  constexpr int64_t kInfinity = int64_t{0x7FF} << 52;
  const float reach = noise.units * kReach;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t old = bits[i];
    const auto magnitude = static_cast<int64_t>(old & ~(uint64_t{1} << 63));
    const int64_t moved =
        magnitude + Rounded(Draw(first + static_cast<uint32_t>(i), noise.seed) * reach);
    double value;
    std::memcpy(&value, &old, sizeof value);
    if ((noise.leaves_whole && std::trunc(value) == value) || magnitude < kSmallest ||
        magnitude >= kInfinity || moved < kSmallest || moved >= kInfinity)
      continue;
    bits[i] = (old & (uint64_t{1} << 63)) | static_cast<uint64_t>(moved);
  }
}

GRAPHNET_FOR_PROCESSORS
void AddNoiseF16(uint16_t* bits, size_t count, uint32_t first, const Noise& noise) {
  AddNoise16<10>(bits, count, first, noise, HalfToFloat);
}

GRAPHNET_FOR_PROCESSORS
void AddNoiseBF16(uint16_t* bits, size_t count, uint32_t first, const Noise& noise) {
  AddNoise16<7>(bits, count, first, noise, BFloat16ToFloat);
}

bool AreWholeF32(const float* numbers, size_t count) { return AreAll(numbers, count, IsWhole); }
bool AreWholeF64(const double* numbers, size_t count) {
  return AreAll(numbers, count, [](double number) { return std::trunc(number) == number; });
}
bool AreWholeF16(const uint16_t* bits, size_t count) {
  return AreAll(bits, count, [](uint16_t number) { return IsWhole(HalfToFloat(number)); });
}
bool AreWholeBF16(const uint16_t* bits, size_t count) {
  return AreAll(bits, count, [](uint16_t number) { return IsWhole(BFloat16ToFloat(number)); });
}

}  // namespace graphnet

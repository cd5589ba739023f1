// NameHash: a hash that is faster than Abseil's for long names, such as those of parameters.
#ifndef GRAPHNET_BASE_NAME_HASH_H_
#define GRAPHNET_BASE_NAME_HASH_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace graphnet {

// Hashes all bytes, 16 at a time. Parsers look names up at each word, so speed matters. Like
// Abseil's hash, it differs between runs of a program, so that no input can be built of names that
// collide.
struct NameHash {
  size_t operator()(absl::string_view name) const {
    const char* p = name.data();
    size_t n = name.size();
    uint64_t state = reinterpret_cast<uintptr_t>(&kSeed) + n;
    for (; n > 16; n -= 16, p += 16) state = Mix(Load<uint64_t>(p), Load<uint64_t>(p + 8), state);
    // The rest. Both loads may cover some bytes twice.
    uint64_t a = 0, b = 0;
    if (n >= 8) {
      a = Load<uint64_t>(p);
      b = Load<uint64_t>(p + n - 8);
    } else if (n >= 4) {
      a = Load<uint32_t>(p);
      b = Load<uint32_t>(p + n - 4);
    } else if (n > 0) {
      a = static_cast<unsigned char>(p[0]) | uint64_t{static_cast<unsigned char>(p[n / 2])} << 8;
      b = static_cast<unsigned char>(p[n - 1]);
    }
    return static_cast<size_t>(Mix(a, b, state));
  }

 private:
  // The seed is its address, which differs between runs.
  static inline const char kSeed = 0;

  template <typename T>
  static T Load(const char* p) {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
  }
  static uint64_t Mix(uint64_t a, uint64_t b, uint64_t state) {
    const uint64_t other = (state << 32 | state >> 32) ^ b ^ 0xd1b54a32d192ed03;
    const auto product = static_cast<unsigned __int128>(a ^ state ^ 0x9e3779b97f4a7c15) * other;
    return static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
  }
};

}  // namespace graphnet

#endif  // GRAPHNET_BASE_NAME_HASH_H_

// Generator: random numbers by their index. Philox4x32-10 (Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011) maps a counter to four
// random words, so that an element is a function of (seed, name, stream, index)
// only. It does not depend on earlier draws or on other names.
//
// graphnet promises the same numbers on every machine and in every version. They
// are computed only by integer arithmetic and IEEE additions, multiplications,
// divisions and square roots, whose results are exactly defined; the C library's
// log, sin and cos differ between versions.
#ifndef GRAPHNET_INTERP_INPUTS_GENERATOR_H_
#define GRAPHNET_INTERP_INPUTS_GENERATOR_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace graphnet {

// The block cipher; word 0 of counter and key is the lowest.
std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// The 64-bit FNV-1a hash of the bytes of `text`.
uint64_t Fnv1a(absl::string_view text);

// The key is the seed. The counter is, from its lowest bit: the index of the
// block (40 bits), the attempt (16; see Integers), the stream (8) and the hash
// of the name (64). Names with the same hash get the same numbers; two of a
// million names have the same hash with a probability of 3e-8.
class Generator {
 public:
  Generator(uint64_t seed, absl::string_view name, uint8_t stream = 0);

  // Each of these functions writes the elements [first, first + out.size()) of its
  // sequence. `first` is a multiple of 4, and all indices are below 2^40.

  // Uniform in [0, 1), in steps of 2^-24: element i is the upper 24 bits of word
  // i % 4 of block i / 4.
  void Uniform(int64_t first, absl::Span<float> out) const;

  // Standard normal, by Box and Muller. Words a and b (0 and 1, or 2 and 3) of
  // block i / 4 give two elements, r cos t and r sin t, with
  //   r = sqrt(-2 ln((a + 1) / 2^32)), which is below 6.7,
  //   t = pi/2 (q + s), where q is the upper two bits of b and s the other bits
  //       as a signed fraction in [-1/2, 1/2).
  // They are computed in double to 13 digits, then rounded to float.
  void Normal(int64_t first, absl::Span<float> out) const;

  // Uniform in [min, max], both included; min <= max. Word 2 (i % 2) of block
  // i / 2 and the next word are a 64-bit number that is multiplied by the size of
  // the range; the upper 64 bits of the product are the offset from min. The few
  // products that would favour some offsets are rejected (Lemire, "Fast random
  // integer generation in an interval", 2019). Words 0 and 1 of block i are then
  // used instead, with attempts that count up from 1.
  void Integers(int64_t first, int64_t min, int64_t max, absl::Span<int64_t> out) const;

 private:
  uint64_t Low(uint64_t block, uint64_t attempt) const;
  // The words of the next 16 blocks.
  void Words(uint64_t first_block, uint32_t* out) const;
  uint64_t Retry(uint64_t index, uint64_t attempt) const;

  std::array<uint32_t, 2> key_;
  uint64_t name_hash_;
  uint8_t stream_;
};

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_INPUTS_GENERATOR_H_

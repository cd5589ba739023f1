// Moves floating-point numbers by a few units in their last place, at random.
#ifndef GRAPHNET_INTERP_INPUTS_RANDOM_NOISE_H_
#define GRAPHNET_INTERP_INPUTS_RANDOM_NOISE_H_

#include <cstddef>
#include <cstdint>

namespace graphnet {

// How the elements of a tensor are moved.
struct Noise {
  // Each element moves by a whole number of units in its last place, drawn evenly from those up to
  // 1.5 times this. So 1 leaves a third of the elements as they are and moves the others to one of
  // their two neighbours.
  float units = 1;
  uint32_t seed = 0;
  // Leaves whole numbers as they are: what arithmetic makes of whole numbers is mostly exact.
  bool leaves_whole = false;
};

// These move `count` numbers of a dtype by `noise`. Element i of a tensor is `first` + i: the same
// elements move in the same way whichever thread moves them. Zeros, subnormal numbers,
// infinities and nan are not moved, nor are numbers that could become infinite.
void AddNoiseF32(uint32_t* bits, size_t count, uint32_t first, const Noise& noise);
void AddNoiseF64(uint64_t* bits, size_t count, uint32_t first, const Noise& noise);
void AddNoiseF16(uint16_t* bits, size_t count, uint32_t first, const Noise& noise);
void AddNoiseBF16(uint16_t* bits, size_t count, uint32_t first, const Noise& noise);

// Returns whether all numbers are whole, or infinite.
bool AreWholeF32(const float* numbers, size_t count);
bool AreWholeF64(const double* numbers, size_t count);
bool AreWholeF16(const uint16_t* bits, size_t count);
bool AreWholeBF16(const uint16_t* bits, size_t count);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_INPUTS_RANDOM_NOISE_H_

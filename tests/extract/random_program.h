// Makes random TorchScript programs with branches, loops, calls, lists, state and breaks.
#ifndef GRAPHNET_TESTS_EXTRACT_RANDOM_PROGRAM_H_
#define GRAPHNET_TESTS_EXTRACT_RANDOM_PROGRAM_H_

#include <cstdint>

#include "tests/extract/check_program.h"

namespace graphnet {

// Returns the program of a seed, the same on all machines. All tensors are f32[3].
TestProgram RandomProgram(uint64_t seed);

}  // namespace graphnet

#endif  // GRAPHNET_TESTS_EXTRACT_RANDOM_PROGRAM_H_

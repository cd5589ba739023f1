// How much memory there is.
#ifndef GRAPHNET_BASE_MEMORY_H_
#define GRAPHNET_BASE_MEMORY_H_

#include <cstdint>

namespace graphnet {

// Bytes that can be allocated now without swapping, as Linux estimates it and
// the control group of the process allows; the largest int64 where that cannot be
// read.
int64_t AvailableMemoryBytes();

}  // namespace graphnet

#endif  // GRAPHNET_BASE_MEMORY_H_

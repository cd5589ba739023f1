// How much memory there is.
#ifndef GRAPHNET_BASE_MEMORY_H_
#define GRAPHNET_BASE_MEMORY_H_

#include <cstdint>

namespace graphnet {

// Bytes that can be allocated now without swapping: as Linux estimates it, and no more than the
// control group and the limits (setrlimit, ulimit) of the process allow. The largest int64 where
// none of that can be read.
int64_t AvailableMemoryBytes();

}  // namespace graphnet

#endif  // GRAPHNET_BASE_MEMORY_H_

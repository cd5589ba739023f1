// The memory that this process can still allocate.
#ifndef GRAPHNET_BASE_MEMORY_H_
#define GRAPHNET_BASE_MEMORY_H_

#include <cstdint>
#include <string>

namespace graphnet {

// Returns the bytes that can be allocated now without swapping. This is Linux's estimate, bounded
// by the control group and by the limits of the process (setrlimit, ulimit). Returns the largest
// int64 if none of them can be read.
int64_t AvailableMemoryBytes();

// Returns the bytes that a control group still allows: its limit minus its use, where cached files,
// which can be evicted, do not count as used. Its files (version 2, else version 1) are below
// `root`. Returns the largest int64 if the group has no limit or cannot be read.
int64_t ControlGroupBytes(const std::string& root);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_MEMORY_H_

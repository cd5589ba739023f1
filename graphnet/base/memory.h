// How much memory there is.
#ifndef GRAPHNET_BASE_MEMORY_H_
#define GRAPHNET_BASE_MEMORY_H_

#include <cstdint>
#include <string>

namespace graphnet {

// Bytes that can be allocated now without swapping: as Linux estimates it, and no more than the
// control group and the limits (setrlimit, ulimit) of the process allow. The largest int64 where
// none of that can be read.
int64_t AvailableMemoryBytes();

// Bytes that the control group (version 2, or else 1), whose files lie below `root`, leaves: its
// limit less what it uses, but for the files in its cache, which give way. The largest int64 where
// it has no limit or none of that can be read.
int64_t ControlGroupBytes(const std::string& root);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_MEMORY_H_

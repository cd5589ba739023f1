// The limits of untrusted input. They are in one table, so that all readers refuse at the same
// value and tests can probe both sides of each limit.
#ifndef GRAPHNET_BASE_LIMITS_H_
#define GRAPHNET_BASE_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace graphnet {

inline constexpr size_t kMaxTextFileBytes = size_t{64} << 20;  // 64 MiB
inline constexpr size_t kMaxTextLines = size_t{4} << 20;       // of a text with graphs
inline constexpr int kMaxNesting = 200;                        // brackets, graphs, types
inline constexpr size_t kMaxNameBytes = 64 << 10;              // 64 KiB
inline constexpr int kMaxRank = 64;
inline constexpr int64_t kMaxTensorElements = int64_t{1} << 40;
inline constexpr int64_t kMaxSampleBytes = int64_t{1} << 40;  // declared, 1 TiB
inline constexpr uint64_t kMaxArchiveEntries = 65535;
inline constexpr uint64_t kMaxArchiveBytes = uint64_t{64} << 30;  // declared
inline constexpr uint64_t kMaxDeflatedRecordBytes = uint64_t{256} << 20;
inline constexpr int kMaxPickleDepth = 1000;
inline constexpr int kMaxJsonDepth = 256;
inline constexpr int kMaxProtoDepth = 100;
inline constexpr size_t kMaxProtoBytes = (size_t{1} << 31) - 1;  // below 2 GiB

}  // namespace graphnet

#endif  // GRAPHNET_BASE_LIMITS_H_

// How far a program is followed unless the caller says otherwise (CaptureOptions).
#ifndef GRAPHNET_EXTRACT_BOUNDS_H_
#define GRAPHNET_EXTRACT_BOUNDS_H_

#include <cstdint>

namespace graphnet {

inline constexpr int64_t kMaxUnroll = 1000;
inline constexpr int64_t kMaxSteps = int64_t{1} << 22;

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_BOUNDS_H_

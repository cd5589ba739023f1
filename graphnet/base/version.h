#ifndef GRAPHNET_BASE_VERSION_H_
#define GRAPHNET_BASE_VERSION_H_

namespace graphnet {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace graphnet

#endif  // GRAPHNET_BASE_VERSION_H_

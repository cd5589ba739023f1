// Internal to the configuration: what both of its forms have to hold.
#ifndef GRAPHNET_DECOMPOSE_CONFIG_CHECK_H_
#define GRAPHNET_DECOMPOSE_CONFIG_CHECK_H_

#include <string>

#include "graphnet/decompose/config.h"

namespace graphnet::config_internal {

// The key that the mode takes: "split_positions", "size", …; empty if none.
absl::string_view ModeKey(DecomposeMode mode);

// Empty if nothing is.
std::string WhatIsWrong(const DecomposeConfig& config);

}  // namespace graphnet::config_internal

#endif  // GRAPHNET_DECOMPOSE_CONFIG_CHECK_H_

// Region calls: higher-order calls that run one body once. Tracers write them for the code under
// `with torch.no_grad():`, under autocast or in a marked part.
#ifndef GRAPHNET_OPS_REGION_CALL_H_
#define GRAPHNET_OPS_REGION_CALL_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace graphnet {

// Positions and meaning of the arguments of a region call.
struct RegionForm {
  // Mode that the call sets for the body; kSame if it sets none.
  enum class Mode : uint8_t { kSame, kGradients, kAutocast };
  Mode mode = Mode::kSame;
  // Position of the body. The arguments before it set the mode: whether gradients are recorded, or
  // for autocast the device, the dtype, whether it is on and whether it caches casts.
  size_t body = 0;
  size_t operands = 1;  // position of the first operand of the body
};

// Returns the form of calls of `target`; nullopt if it does not make region calls.
std::optional<RegionForm> RegionFormOf(absl::string_view target);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_REGION_CALL_H_

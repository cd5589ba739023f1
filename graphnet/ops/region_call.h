// Region calls: higher-order calls that run one body once, as it stands, as tracers write what
// a program does under `with torch.no_grad():`, under autocast or in a marked part.
#ifndef GRAPHNET_OPS_REGION_CALL_H_
#define GRAPHNET_OPS_REGION_CALL_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace graphnet {

struct RegionForm {
  // The mode that the body runs in: that of the call, or another one.
  enum class Mode : uint8_t { kSame, kGradients, kAutocast };
  Mode mode = Mode::kSame;
  // The place of the body among the arguments. Those before it say the mode: whether gradients
  // are recorded, or the device, the dtype, whether autocast is on and whether it keeps casts.
  size_t body = 0;
  size_t operands = 1;  // where the operands of the body begin
};

// Of calls of the function `target`; none for other functions.
std::optional<RegionForm> RegionFormOf(absl::string_view target);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_REGION_CALL_H_

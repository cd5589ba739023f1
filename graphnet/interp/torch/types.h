// Converts dtypes, devices and layouts of the IR to LibTorch's and back.
#ifndef GRAPHNET_INTERP_TORCH_TYPES_H_
#define GRAPHNET_INTERP_TORCH_TYPES_H_

#include "c10/core/Device.h"
#include "c10/core/Layout.h"
#include "c10/core/ScalarType.h"
#include "graphnet/ir/types.h"

namespace graphnet {

// Returns kUnknown if the IR has no name for the type.
DType DTypeOf(c10::ScalarType type);
// Throws c10::Error for kUnknown.
c10::ScalarType ScalarTypeOf(DType dtype);

// Returns kPrivateuseone if the IR has no name for the device.
Device DeviceOf(c10::Device device);

c10::Layout LayoutOf(Layout layout);
std::optional<Layout> LayoutOf(c10::Layout layout);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_TORCH_TYPES_H_

// Shapes of operators whose meta kernels LibTorch has only in Python
// (torch/_meta_registrations.py).
#ifndef GRAPHNET_INTERP_META_RULES_H_
#define GRAPHNET_INTERP_META_RULES_H_

#include <optional>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "c10/core/Device.h"

namespace graphnet::interp {

// Returns the result of operator `name` ("aten::conv2d") on `args`, whose tensors are on
// the meta device; nullopt if there is no rule. Throws c10::Error if the operator would.
std::optional<at::Tensor> MetaResult(const std::string& name, const std::vector<c10::IValue>& args);

// aten.grad(outputs, inputs, …): returns for each input a tensor of its sizes without data.
c10::IValue GradientsForShapes(std::vector<c10::IValue>& args, c10::Device device);

}  // namespace graphnet::interp

#endif  // GRAPHNET_INTERP_META_RULES_H_

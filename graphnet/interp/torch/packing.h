// What the functions that pack the parameters of quantised layers take. PyTorch's own do not check
// all of it, and divide by zero, or take memory out of proportion.
#ifndef GRAPHNET_INTERP_TORCH_PACKING_H_
#define GRAPHNET_INTERP_TORCH_PACKING_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ATen/core/Tensor.h"

namespace graphnet {

// The operands of quantized::conv2d_prepack and its like; `weight` has `dims` spatial dimensions.
struct ConvPacking {
  int dims = 2;
  at::Tensor weight;
  std::optional<at::Tensor> bias;
  std::vector<int64_t> stride;
  std::vector<int64_t> padding;
  std::vector<int64_t> output_padding;  // empty unless `transposed`
  std::vector<int64_t> dilation;
  int64_t groups = 1;
  bool transposed = false;
};

// Throw c10::Error if the operands do not fit each other.
void CheckPacking(const ConvPacking& packing);
void CheckLinearPacking(const at::Tensor& weight, const std::optional<at::Tensor>& bias);
void CheckEmbeddingPacking(const at::Tensor& weight);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_TORCH_PACKING_H_

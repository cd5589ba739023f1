// Between TensorData, which files and inputs are made of, and LibTorch's tensors.
//
//   ASSIGN_OR_RETURN(const at::Tensor w, ToTensor(sample.weights.at("w"), c10::Device(c10::kCPU)));
//   ASSIGN_OR_RETURN(sample.weights["w"], ToTensorData(w * 2));
#ifndef GRAPHNET_INTERP_TORCH_TENSORS_H_
#define GRAPHNET_INTERP_TORCH_TENSORS_H_

#include "ATen/core/Tensor.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// A copy on the device, with its strides if it has any. InvalidArgument for a dtype that
// tensors of plain numbers do not have, or bytes or strides that do not fit the shape.
absl::StatusOr<at::Tensor> ToTensor(const TensorData& data, c10::Device device);
// A contiguous copy on the CPU.
absl::StatusOr<TensorData> ToTensorData(const at::Tensor& tensor);

// The tensor as modules hold parameters: it asks for gradients. Nobody computes any, but
// at::matmul then takes another way, and rounds otherwise. Itself if it does already, or
// if its dtype has none.
at::Tensor AsParameter(const at::Tensor& tensor);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_TORCH_TENSORS_H_

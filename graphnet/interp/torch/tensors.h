// Converts TensorData, the form of tensors in files and inputs, to LibTorch's tensors and back.
//
//   ASSIGN_OR_RETURN(const at::Tensor w, ToTensor(sample.weights.at("w"), c10::Device(c10::kCPU)));
//   ASSIGN_OR_RETURN(sample.weights["w"], ToTensorData(w * 2));
#ifndef GRAPHNET_INTERP_TORCH_TENSORS_H_
#define GRAPHNET_INTERP_TORCH_TENSORS_H_

#include "ATen/core/Tensor.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Returns a copy on the device, with the strides of `data` if it has any. InvalidArgument for an
// unknown or quantised dtype, or if the bytes or strides do not fit the shape.
absl::StatusOr<at::Tensor> ToTensor(const TensorData& data, c10::Device device);
// Returns a contiguous copy on the CPU.
absl::StatusOr<TensorData> ToTensorData(const at::Tensor& tensor);

// Returns the tensor in the form in which modules hold parameters: it requires gradients. No
// gradients are computed, but at::matmul then takes another path and rounds differently. Returns
// `tensor` itself if it requires them already, or if its dtype has no gradients.
at::Tensor AsParameter(const at::Tensor& tensor);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_TORCH_TENSORS_H_

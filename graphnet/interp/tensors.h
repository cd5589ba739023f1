// Between TensorData, which files and inputs are made of, and what runs.
#ifndef GRAPHNET_INTERP_TENSORS_H_
#define GRAPHNET_INTERP_TENSORS_H_

#include <map>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/node.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// A copy on the device, with its strides if it has any. InvalidArgument for a dtype that LibTorch does
// not compute in, or bytes or strides that do not fit the shape.
absl::StatusOr<at::Tensor> ToTensor(const TensorData& data, c10::Device device);
// A contiguous copy on the CPU.
absl::StatusOr<TensorData> ToTensorData(const at::Tensor& tensor);

// The tensor as modules hold parameters: it asks for gradients. Nobody computes any, but
// at::matmul then takes another way, and rounds otherwise. Itself if it does already, or
// if its dtype has none.
at::Tensor AsParameter(const at::Tensor& tensor);

// What Executable::Run takes for a placeholder: the tensor, or the number in it
// where the annotation names one; InvalidArgument if that is not one number.
absl::StatusOr<c10::IValue> ToInput(at::Tensor tensor, const Node& placeholder);

// o0, o1, … in order; numbers as 0-d tensors (an int as int64, a float as
// float64), None left out.
absl::StatusOr<std::map<std::string, TensorData>> NameOutputs(
    const std::vector<c10::IValue>& outputs);

// "cpu", "cuda:0".
absl::StatusOr<c10::Device> ParseRunDevice(const std::string& text);
// Of operators; 0: as many as there are cores.
void SetNumThreads(int threads);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_TENSORS_H_

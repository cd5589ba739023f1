// Converts the inputs and outputs of a run.
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

// Returns the input of Executable::Run for a placeholder: the tensor itself, or the number or
// string in it if the annotation names one; InvalidArgument if the tensor does not hold it.
absl::StatusOr<c10::IValue> ToInput(at::Tensor tensor, const Node& placeholder);

// Names the outputs o0, o1, … in order. Numbers become 0-d tensors (an int int64, a float
// float64); None is omitted. A quantised tensor becomes its integers, and o0.scales and
// o0.zero_points, as quantised weights do.
absl::StatusOr<std::map<std::string, TensorData>> NameOutputs(
    const std::vector<c10::IValue>& outputs);

// Parses "cpu" or "cuda:0". InvalidArgument if this LibTorch has no such device.
absl::StatusOr<c10::Device> ParseRunDevice(const std::string& text);
// Sets the number of threads that operators use. 0 stands for OMP_NUM_THREADS, or all cores.
void SetNumThreads(int threads);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_TENSORS_H_

// What goes into a run and comes out of it.
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

// The text of which it has the bytes (inputs/elements.h); throws c10::Error for other tensors.
c10::IValue TextOf(const at::Tensor& tensor);

// What Executable::Run takes for a placeholder: the tensor, or the number or text in it
// where the annotation names one; InvalidArgument if it is neither.
absl::StatusOr<c10::IValue> ToInput(at::Tensor tensor, const Node& placeholder);

// o0, o1, … in order; numbers as 0-d tensors (an int as int64, a float as
// float64), None left out.
absl::StatusOr<std::map<std::string, TensorData>> NameOutputs(
    const std::vector<c10::IValue>& outputs);

// "cpu", "cuda:0".
absl::StatusOr<c10::Device> ParseRunDevice(const std::string& text);
// Sets how many threads operators use. 0 stands for what OMP_NUM_THREADS says, or for all cores.
void SetNumThreads(int threads);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_TENSORS_H_

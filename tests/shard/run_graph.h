// Runs graphs of tests through ATen on small whole numbers, so that sums do not depend on their
// order.
#ifndef TESTS_SHARD_RUN_GRAPH_H_
#define TESTS_SHARD_RUN_GRAPH_H_

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "ATen/ATen.h"
#include "ATen/Parallel.h"
#include "absl/status/statusor.h"
#include "graphnet/interp/executable.h"
#include "graphnet/ir/module.h"

namespace graphnet::spmd {

// Draws inputs: floating-point numbers are whole numbers from -4 to 4, integers are indices below
// 4.
inline std::vector<c10::IValue> DrawInputs(const Module& module, uint64_t seed) {
  std::vector<c10::IValue> inputs;
  std::mt19937_64 random(seed);
  for (const Node* node : module.main()->placeholders()) {
    std::vector<int64_t> sizes;
    for (const Dim& dim : node->tensor_meta()->shape) sizes.push_back(dim.value);
    const bool is_index = node->tensor_meta()->dtype == DType::kInt64;
    at::Tensor value = at::empty(sizes, is_index ? at::kLong : at::kDouble);
    for (int64_t i = 0; i < value.numel(); ++i) {
      if (is_index)
        value.data_ptr<int64_t>()[i] = static_cast<int64_t>(random() % 4);
      else
        value.data_ptr<double>()[i] = static_cast<double>(random() % 9) - 4;
    }
    inputs.emplace_back(value);
  }
  return inputs;
}

inline absl::StatusOr<std::vector<c10::IValue>> RunGraph(const Module& module,
                                                         std::vector<c10::IValue> inputs) {
  at::set_num_threads(1);  // more threads only wait for each other on such small tensors
  auto executable = Compile(module);
  if (!executable.ok()) return executable.status();
  return (*executable)->Run(std::move(inputs));
}

}  // namespace graphnet::spmd

#endif  // TESTS_SHARD_RUN_GRAPH_H_

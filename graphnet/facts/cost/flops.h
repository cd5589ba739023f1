// The work of one call, told from the sizes of what it takes and yields, without LibTorch.
//
// `flops` is what torch.utils.flop_counter counts when FlopCounterMode runs the call under
// sdpa_kernel(SDPBackend.MATH): an operator that is composed of others counts as those, kernels
// of attention as the products that they stand for, recurrent layers as the products that they
// consist of. `other` is a rule of ours for all operators that it does not count (costs.txt). A
// call has one of the two.
#ifndef GRAPHNET_FACTS_COST_FLOPS_H_
#define GRAPHNET_FACTS_COST_FLOPS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ir/node.h"

namespace graphnet {

// Numbers that grow beyond int64 stay at its largest.
struct Cost {
  int64_t flops = 0;
  int64_t other = 0;
  int64_t bytes = 0;  // of the operands that are read and of the results; views move none
  int64_t calls = 0;
  int64_t unknown = 0;  // calls of which the work or the bytes are not known, and not counted

  Cost& operator+=(const Cost& more);
  // So many times; 0 or more.
  Cost Times(int64_t times) const;
  friend bool operator==(const Cost& a, const Cost& b) = default;
};

// The bytes of one tensor; none if its sizes or dtype are not known.
std::optional<int64_t> BytesOfTensor(const TensorFacts& facts);

// Of a call of a lowered graph (lowering.h), which is one call. `of` tells of a node or constant,
// `results` of the tensors that the call yields. A call of numbers only costs nothing.
Cost CostOfCall(const Node& call, FactsOfArgument of, absl::Span<const TensorFacts> results);

// Whether an operator that no table has is one of TorchScript's own, such as aten.len.t and
// prim.NumToTensor.Scalar. They compute on Python's values unless a meta says otherwise.
bool IsOfTorchScript(absl::string_view target);

// All operators and functions that costs.txt names.
std::vector<absl::string_view> OperatorsWithCosts();

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_COST_FLOPS_H_

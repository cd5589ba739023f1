// Computes the work of one call from the sizes of its operands and results, without LibTorch.
//
// `flops` equals the count of torch.utils.flop_counter when FlopCounterMode runs the call under
// sdpa_kernel(SDPBackend.MATH): a composite operator counts as its parts, a kernel of attention or
// a recurrent layer as its matrix products. `other` follows our own rules (costs.txt) for all
// operators that FlopCounterMode does not count. A call has one of the two.
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

// The work of one or more calls. All numbers saturate at the largest int64.
struct Cost {
  int64_t flops = 0;
  int64_t other = 0;
  int64_t bytes = 0;  // of the operands that are read and of the results; 0 for views
  int64_t calls = 0;
  int64_t unknown = 0;  // calls whose work or bytes are unknown and not counted

  Cost& operator+=(const Cost& more);
  // Returns the cost of `times` (0 or more) such calls.
  Cost Times(int64_t times) const;
  friend bool operator==(const Cost& a, const Cost& b) = default;
};

// Returns the bytes of one tensor; nullopt if its sizes or dtype are unknown.
std::optional<int64_t> BytesOfTensor(const TensorFacts& facts);

// Returns the cost of one call of a lowered graph (lowering.h). `of` returns the facts of an
// operand, `results` has those of the tensors that the call returns. A call on numbers only costs
// nothing.
Cost CostOfCall(const Node& call, FactsOfArgument of, absl::Span<const TensorFacts> results);

// Returns whether a call of a lowered graph multiplies matrices, as linear layers, convolutions,
// attention and recurrent layers do: whether FlopCounterMode counts it.
bool IsProduct(const Node& call);

// The kinds of work that operators do, by the tables of costs, from the one that says most about a
// graph to the one that says least.
enum class WorkClass : uint8_t {
  kAttention,
  kConvolution,
  kRecurrent,
  kMatmul,
  kNormalisation,  // also softmax
  kReduction,      // work in proportion to what is read
  kPointwise,      // work in proportion to the result
  kMovement,       // computes nothing: views, copies, gathers, random numbers
  kOther,          // in no table
};
inline constexpr int kNumWorkClasses = static_cast<int>(WorkClass::kOther) + 1;

// Returns "attention" and so on.
absl::string_view WorkClassName(WorkClass work);

// Returns the class of an operator of ATen, a function of torch.nn.functional or an operator of
// Python by the meaning of its calls (CallMeaning::name): "conv2d", "add", "getitem".
WorkClass WorkClassOf(absl::string_view meaning);

// Returns whether `target`, which is in no table, is one of TorchScript's own operators, such as
// aten.len.t and prim.NumToTensor.Scalar. Unless a meta says otherwise, they compute on Python's
// values, not on tensors.
bool IsOfTorchScript(absl::string_view target);

// Returns all operators and functions that costs.txt names.
std::vector<absl::string_view> OperatorsWithCosts();

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_COST_FLOPS_H_

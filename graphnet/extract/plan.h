// Internal: functions of TorchScript made ready to be interpreted.
#ifndef GRAPHNET_EXTRACT_PLAN_H_
#define GRAPHNET_EXTRACT_PLAN_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "graphnet/formats/torchscript/program.h"
#include "torch/csrc/jit/api/function_impl.h"
#include "torch/csrc/jit/ir/ir.h"
#include "torch/csrc/jit/runtime/operator.h"

namespace graphnet::extract {

// What an operator does with tensors, by its schema.
enum class OpClass {
  kValues,   // handles values of any type; what tensors hold plays no part
  kCompute,  // yields tensors, or writes to them
  kRead,     // takes tensors and yields something else
  kEffect,   // takes no tensors and yields nothing
};

struct BlockPlan;

struct StepPlan {
  const torch::jit::Node* node = nullptr;
  std::vector<int> in;  // slots
  std::vector<int> out;
  std::vector<int> dead;  // slots that nobody looks at after this
  std::vector<BlockPlan> blocks;
  c10::IValue constant;
  // Of operators:
  const c10::FunctionSchema* schema = nullptr;
  mutable std::optional<torch::jit::Operation> operation;  // calling it is not const
  OpClass op_class = OpClass::kValues;
  bool is_random = false;
  bool sizes_may_depend_on_data = false;
  bool yields_list = false;     // of tensors
  bool takes_any_list = false;  // first, with elements of any type
  bool is_allowed = false;
  bool is_composite = false;  // interp/no_grad.h
  std::vector<int> writes;    // operands
  // What does the same with a number in place of the tensor that comes second.
  std::string target_for_numbers;
  mutable std::optional<torchscript::Place> place;
};

struct BlockPlan {
  std::vector<int> inputs;
  std::vector<StepPlan> steps;
  std::vector<int> outputs;
};

// Whether the kind of a node says what is to be done, rather than an operator.
bool IsChosenByNode(c10::Symbol kind);

// Whether the function, or one that it calls, computes gradients by torch.autograd.grad:
// then the program runs with gradients recorded.
bool AsksForGradients(torch::jit::Function& function);

struct FunctionPlan {
  std::shared_ptr<torch::jit::Graph> graph;  // without dead code; the steps' nodes are its own
  size_t num_slots = 0;
  BlockPlan body;
};

// Runs the operator of a step, with its operands on the stack and then its results.
// Throws what LibTorch throws.
void Execute(const StepPlan& step, std::vector<c10::IValue>* stack);

// Made once for each graph and the arguments that `call` (may be null) has as constants of
// rank 0: a number may be handed on.
class Planner {
 public:
  absl::StatusOr<const FunctionPlan*> Plan(const torch::jit::Graph& graph,
                                           const torch::jit::Node* call);

 private:
  using Key = std::pair<const torch::jit::Graph*, std::vector<const c10::TensorImpl*>>;
  absl::flat_hash_map<Key, std::unique_ptr<FunctionPlan>> plans_;
};

}  // namespace graphnet::extract

#endif  // GRAPHNET_EXTRACT_PLAN_H_

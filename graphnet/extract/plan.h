// Internal: prepares functions of TorchScript for interpretation.
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

// The role that tensors play in an operator, by its schema.
enum class OpClass {
  kValues,   // handles values of any type; the data of tensors plays no part
  kCompute,  // returns tensors, or writes to them
  kRead,     // takes tensors and returns something else
  kEffect,   // takes no tensors and returns nothing
};

struct BlockPlan;

struct StepPlan {
  const torch::jit::Node* node = nullptr;
  std::vector<int> in;  // slots
  std::vector<int> out;
  std::vector<int> dead;  // slots that are not read after this step
  std::vector<BlockPlan> blocks;
  c10::IValue constant;
  // The rest is set for operators.
  const c10::FunctionSchema* schema = nullptr;
  mutable std::optional<torch::jit::Operation> operation;  // calling it is not const
  OpClass op_class = OpClass::kValues;
  bool is_random = false;
  bool sizes_may_depend_on_data = false;
  bool yields_list = false;     // it returns a list of tensors
  bool takes_any_list = false;  // its first argument is a list with elements of any type
  bool is_allowed = false;
  bool is_composite = false;  // see interp/no_grad.h
  std::vector<int> writes;    // the operands that it writes to
  // The target that does the same with a number as second argument in place of a tensor.
  std::string target_for_numbers;
  mutable std::optional<torchscript::Place> place;
};

struct BlockPlan {
  std::vector<int> inputs;
  std::vector<StepPlan> steps;
  std::vector<int> outputs;
};

// Returns true for nodes that the session handles by their kind and not by their operator.
bool IsChosenByNode(c10::Symbol kind);

// Returns true if the function, or one that it calls, computes gradients by torch.autograd.grad.
// The program then runs with gradients recorded.
bool AsksForGradients(torch::jit::Function& function);

struct FunctionPlan {
  std::shared_ptr<torch::jit::Graph> graph;  // without dead code; the steps' nodes are its own
  size_t num_slots = 0;
  BlockPlan body;
};

// Runs the operator of a step: replaces its operands on the stack by its results. Throws what
// LibTorch throws.
void Execute(const StepPlan& step, std::vector<c10::IValue>* stack);

// Makes plans of functions.
class Planner {
 public:
  // Makes one plan for each graph and each set of rank-0 constants among the arguments of `call`
  // (which may be null), as the graph may pass such a number on. The plan lives as long as this.
  absl::StatusOr<const FunctionPlan*> Plan(const torch::jit::Graph& graph,
                                           const torch::jit::Node* call);

 private:
  using Key = std::pair<const torch::jit::Graph*, std::vector<const c10::TensorImpl*>>;
  absl::flat_hash_map<Key, std::unique_ptr<FunctionPlan>> plans_;
};

}  // namespace graphnet::extract

#endif  // GRAPHNET_EXTRACT_PLAN_H_

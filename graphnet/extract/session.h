// Internal: the interpreter that runs a program while it is recorded.
#ifndef GRAPHNET_EXTRACT_SESSION_H_
#define GRAPHNET_EXTRACT_SESSION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/base/arena.h"
#include "graphnet/extract/break_rules.h"
#include "graphnet/extract/capture.h"
#include "graphnet/extract/dynamic_sizes.h"
#include "graphnet/extract/plan.h"
#include "graphnet/extract/recorder.h"
#include "graphnet/extract/run_number.h"
#include "graphnet/extract/value_tree.h"
#include "graphnet/formats/torchscript/call_form.h"
#include "graphnet/ir/shared_walk.h"
#include "torch/csrc/jit/api/function_impl.h"

namespace graphnet::extract {

// One capture. Errors of the run name the program's line; everything that was recorded before the
// error stays in the Capture.
class Session {
 public:
  // A program that asks for gradients runs with gradients recorded.
  Session(const CaptureOptions& options, bool asks_for_gradients, Capture* capture);
  absl::Status Run(const torch::jit::Module& module, torch::jit::GraphFunction& function,
                   std::vector<c10::IValue> inputs);

 private:
  struct Frame {
    std::vector<c10::IValue> slots;
    std::string path;  // of the module that has the method
  };
  struct Home {
    std::string path;
    std::string name;
    c10::IValue container;  // keeps its address from being used again
    ValueTree initial;
  };
  absl::Status AddDynamic(const CaptureOptions::DynamicSize& size,
                          const std::vector<c10::IValue>& inputs);
  // Marks the lists and dicts in `value` as ones that outlive the run: they hold plain numbers.
  void MarkOuter(const c10::IValue& value);
  int64_t NumberOfObject(const c10::IValue& object);
  // Returns the tree that stands for a value that exists already.
  absl::StatusOr<ValueTree> Operand(const c10::IValue& value);
  // Returns a pattern whose tensors come from outside the graphs and are called `name`.
  absl::StatusOr<ValueTree> Pattern(const c10::IValue& value, const std::string& name);

  // --- Objects -------------------------------------------------------------------
  void FindObjects(const c10::intrusive_ptr<c10::ivalue::Object>& object, const std::string& path,
                   int depth);
  absl::StatusOr<c10::IValue> GetAttr(const c10::IValue& owner, const std::string& name);
  // The error that ends the attempt to capture a branch.
  static absl::Status NoBody() { return absl::CancelledError("no body of a branch"); }
  absl::Status SetAttr(const StepPlan& step, const Frame&, const c10::IValue& owner,
                       c10::IValue value);

  // --- Numbers that the run reads --------------------------------------------------
  // Returns a value for an int or float that may differ in another run.
  c10::IValue NewNumber(const c10::IValue& example);
  // Puts such values in place of the numbers that an operation has read from tensors.
  c10::IValue WithNewNumbers(const c10::IValue& read);
  // Runs an operator on numbers alone, in front of the current graph. Returns false and does
  // nothing if `step` is not such an operator.
  absl::StatusOr<bool> RunOnNumbers(const StepPlan& step, Frame* frame,
                                    const std::vector<c10::IValue>& operands);
  // Adds a guard that this number is the same in other runs.
  void Pin(const RunNumber& number);
  // Returns true if sizes of `results` change with the numbers in `operands`.
  bool SizesDependOnNumbers(const StepPlan& step, const std::vector<c10::IValue>& operands,
                            const std::vector<c10::IValue>& results);
  StitchStep StepAt(const StepPlan& step, const std::string& op, const std::string& overload,
                    BreakReason reason);

  // --- Functions and blocks ------------------------------------------------------
  absl::StatusOr<c10::IValue> CallFunction(torch::jit::Function& callee,
                                           std::vector<c10::IValue> arguments,
                                           const std::string& path, const torch::jit::Node* node);
  absl::StatusOr<c10::IValue> RunGraph(const torch::jit::Graph& graph,
                                       std::vector<c10::IValue> arguments, const std::string& path,
                                       const torch::jit::Node* node);
  absl::Status RunBlock(const BlockPlan& block, Frame* frame);
  absl::Status RunStep(const StepPlan& step, Frame* frame);
  absl::Status RunStepOrThrow(const StepPlan& step, Frame* frame);
  absl::Status SetCallResult(const StepPlan& step, Frame* frame, c10::IValue result);
  absl::Status CallMethod(const StepPlan& step, Frame* frame, const std::string& name,
                          std::vector<c10::IValue> arguments);
  // Calls a method of a class that is written in C++.
  absl::Status CallCustomMethod(const StepPlan& step, Frame* frame, torch::jit::Function* method,
                                std::vector<c10::IValue> arguments);
  // Captures both branches as torch.cond. Returns false and does nothing if that is impossible.
  absl::StatusOr<bool> RunCond(const StepPlan& step, Frame* frame, const at::Tensor& predicate);
  // Captures a loop, by one iteration, as while_loop. Returns false and does nothing if that is
  // impossible.
  absl::StatusOr<bool> RunWhileLoop(const StepPlan& step, Frame* frame);
  absl::Status RunLoop(const StepPlan& step, Frame* frame);
  absl::Status RunTurns(const StepPlan& step, Frame* frame);

  // --- Operators -----------------------------------------------------------------
  static absl::Status NoOperation(std::vector<c10::IValue>*) { return absl::OkStatus(); }
  // Returns a function for Break that runs the step's operator.
  static auto Execution(const StepPlan& step) {
    return [&step](std::vector<c10::IValue>* stack) {
      Execute(step, stack);
      return absl::OkStatus();
    };
  }
  absl::Status SetOutputs(const StepPlan& step, Frame* frame, std::vector<c10::IValue> results);
  bool AllKnown(const std::vector<c10::IValue>& operands) const;
  // Returns true if the operator looks at dtypes, devices and sizes only, as guards do. Such an
  // operator works on tensors without data, and does not depend on their strides.
  bool IsOfMeta(const StepPlan& step, const std::vector<c10::IValue>& operands);
  absl::Status RunOperator(const StepPlan& step, Frame* frame, std::vector<c10::IValue> operands);
  // Returns true, and leaves the read to the `if` right after it, if only that `if` uses it.
  bool DefersToIf(const StepPlan& step, const c10::IValue& operand);
  bool WritesAttribute(const StepPlan& step, const std::vector<c10::IValue>& operands) const;
  absl::Status RunOnValues(const StepPlan& step, Frame* frame, std::vector<c10::IValue> operands);
  bool AnyUnknownSizes(const std::vector<c10::IValue>& operands) const;
  // Returns true if sizes of the step's results depend on more than the sizes of `operands`.
  bool YieldsUnknownSizes(const StepPlan& step, const std::vector<c10::IValue>& operands,
                          bool known);
  // Makes the call a node of the current graph.
  absl::Status Record(const StepPlan& step, Frame* frame, std::vector<c10::IValue> operands);
  // Returns the second operand as a number, if it is a tensor that stands for one, as tracing
  // writes numbers. The overload for numbers does the same.
  std::optional<c10::IValue> NumberFor(const StepPlan& step,
                                       const std::vector<c10::IValue>& operands) const;
  absl::StatusOr<Argument> Default(const c10::IValue& value);
  // Ends the graph, runs the operation, and records both. `run` turns operands into results.
  absl::StatusOr<std::vector<c10::IValue>> Break(
      const StepPlan& step, BreakReason reason, const std::string& op, const std::string& overload,
      std::vector<c10::IValue> operands,
      absl::FunctionRef<absl::Status(std::vector<c10::IValue>*)> run);
  // Breaks the graph at the step's operator.
  absl::Status BreakAtOperator(const StepPlan& step, Frame* frame, BreakReason reason,
                               std::vector<c10::IValue> operands);

  const CaptureOptions& options_;
  const bool asks_for_gradients_;
  Capture& capture_;
  DynamicSizes sizes_;
  const RunNumber::OnPin on_pin_ = [this](const RunNumber& number) { Pin(number); };
  Budget tree_parts_{uint64_t{1} << 21};  // for all value trees of the manifest
  absl::flat_hash_set<const void*> outer_;
  Recorder recorder_;
  Planner planner_;
  torchscript::OperatorTable operators_;
  Arena arena_;
  absl::flat_hash_set<std::string> break_on_;
  absl::flat_hash_set<const c10::StorageImpl*> input_storages_;
  absl::flat_hash_map<const c10::ivalue::Object*, std::string> paths_;
  absl::flat_hash_set<const c10::ClassType*> types_;
  Attributes assigned_;
  absl::flat_hash_set<std::pair<const void*, size_t>> read_;  // attributes
  // The values of attributes that are, or hold, numbers that the run has read.
  absl::flat_hash_map<std::pair<const void*, size_t>, c10::IValue> numbers_held_;
  absl::flat_hash_set<int64_t> pinned_;  // numbers
  const StepPlan* step_ = nullptr;       // the step that runs
  int num_number_steps_ = 0;
  absl::node_hash_map<const void*, Home> homes_;
  absl::flat_hash_map<const c10::FunctionSchema*, bool> is_of_meta_;
  // Tensors that hold a number that is not plain.
  absl::flat_hash_map<const c10::TensorImpl*, std::pair<at::Tensor, c10::IValue>> numbers_;
  // By `if`: the tensor that it depends on, and the step that reads it.
  absl::flat_hash_map<const torch::jit::Node*, std::pair<at::Tensor, const StepPlan*>> deferred_;
  int num_conds_ = 0;
  int num_loops_ = 0;
  bool is_replaying_ = false;  // runs iterations of a loop that is captured already
  int64_t steps_ = 0;          // steps that ran, abandoned attempts included; bounds the time
  int depth_ = 0;
};

}  // namespace graphnet::extract

#endif  // GRAPHNET_EXTRACT_SESSION_H_

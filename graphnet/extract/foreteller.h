// Internal: follows a program that is not run (foretell.h).
#ifndef GRAPHNET_EXTRACT_FORETELLER_H_
#define GRAPHNET_EXTRACT_FORETELLER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/extract/abstract_value.h"
#include "graphnet/extract/break_rules.h"
#include "graphnet/extract/capture_options.h"
#include "graphnet/extract/foretold_break.h"
#include "graphnet/extract/plan.h"
#include "graphnet/ir/shared_walk.h"
#include "torch/csrc/jit/api/module.h"

namespace graphnet::extract {

class Foreteller {
 public:
  struct Condition {
    BreakCondition::Kind kind;
    bool on_data;
    const StepPlan* step;
    friend bool operator==(const Condition&, const Condition&) = default;
  };
  struct Found {
    BreakReason reason;
    std::string op;
    const StepPlan* step;
    std::vector<Condition> conditions;  // the outermost first
  };

  // `options` must outlive this.
  explicit Foreteller(const CaptureOptions& options);
  // Returns false if no run reaches the end. An error names the line that needs more than the
  // options allow.
  absl::StatusOr<bool> Run(const torch::jit::Module& module, torch::jit::GraphFunction& function);
  // The breaks in program order, one for a step and reason. Valid while this lives.
  const std::vector<Found>& found() const { return found_.all; }

 private:
  using Values = std::vector<AbstractValue>;
  using Outcome = absl::StatusOr<bool>;  // whether the code after it is reached
  struct Breaks {
    std::vector<Found> all;
    std::map<std::pair<const StepPlan*, BreakReason>, size_t> by_step;
  };
  struct Frame {
    Values slots;
  };
  // In how many runs something holds.
  enum class Certainty { kNever, kSometimes, kAlways };

  // --- Blocks --------------------------------------------------------------------
  Outcome RunGraph(const torch::jit::Graph& graph, Values arguments, const torch::jit::Node* node,
                   AbstractValue* result);
  Outcome RunBlock(const BlockPlan& block, Frame* frame);
  Outcome RunStep(const StepPlan& step, Frame* frame);
  Outcome RunIf(const StepPlan& step, Frame* frame);
  Outcome RunLoop(const StepPlan& step, Frame* frame);
  // Follows one iteration; `proceed` becomes the value that decides whether there is another one.
  Outcome RunTurn(const StepPlan& step, Frame* frame, AbstractValue index, Values* carried,
                  AbstractValue* proceed);
  // Facts about a loop since it began, which decide whether it can become a while_loop.
  struct LoopState {
    bool is_repeatable = true;  // nothing was written or drawn, or carried over as a number
    bool keeps_sizes = true;    // as far as the operators' rules tell
    size_t num_breaks = 0;      // num_breaks_ when the loop began
    size_t num_calls = 0;       // num_calls_ when the loop began
  };
  // Adds the break of a loop that is longer than `max_unroll`; `turns` is its length, if known.
  void BreakLongLoop(const StepPlan& step, bool counts, std::optional<int64_t> turns, bool on_data);
  // Returns true if an iteration from `before` to `after` carries tensors and changes nothing else.
  bool IsCarriedOn(const StepPlan& step, const Values& before, const Values& after);
  // Runs code that is reached only under a condition, and keeps its breaks in `breaks`.
  template <typename What>
  Outcome Under(Breaks* breaks, What&& what);
  Outcome CallMethod(const StepPlan& step, Frame* frame, const std::string& name, Values arguments);
  Outcome Call(const StepPlan& step, Frame* frame, torch::jit::Function& callee, Values arguments);
  absl::Status TooMuch(const StepPlan& step) const;

  // --- Objects -------------------------------------------------------------------
  void FindAssigned(const torch::jit::Module& module);
  AbstractValue GetAttr(const StepPlan& step, const AbstractValue& owner);
  void SetAttr(const StepPlan& step, const AbstractValue& owner, const AbstractValue& value);

  // --- Operators -----------------------------------------------------------------
  Outcome RunOperator(const StepPlan& step, Frame* frame, const Values& operands);
  void RunOnValues(const StepPlan& step, Frame* frame, const Values& operands);
  void RunRead(const StepPlan& step, Frame* frame, const Values& operands);
  void RunCompute(const StepPlan& step, Frame* frame, const Values& operands);
  // Returns the operands that the operator writes to, and how certain each write is.
  std::vector<std::pair<size_t, Certainty>> Writes(const StepPlan& step, const Values& operands);
  AbstractValue ResultOf(const StepPlan& step, size_t i, const Values& operands, uint8_t facts);
  // Returns true if numbers among the operands were read from tensors.
  bool TakesReadNumbers(const Values& operands);
  bool TakesReadSizes(const StepPlan& step, const Values& operands);
  bool YieldsDataSizes(const StepPlan& step, const Values& operands);
  uint8_t DtypeOfResult(const StepPlan& step, const Values& operands);
  // Returns the number that follows from constant operands, if it does.
  std::optional<AbstractValue> Fold(const StepPlan& step, const Values& operands);
  // Returns a value of the type that is made of the operands' parts.
  AbstractValue Made(const c10::Type& type, const Values& operands, int depth = 0);
  bool AnyOfData(const Values& operands) const;
  // Returns kAlways if `fact` holds for a tensor in the operands and `opposite` does not,
  // kSometimes if both hold for one, else kNever.
  Certainty Any(const Values& operands, uint8_t fact, uint8_t opposite);
  // True if the operator looks at metas only, and if it looks at sizes.
  struct MetaUse {
    bool only = false;
    bool of_sizes = false;
  };
  MetaUse MetaUseOf(const StepPlan& step);

  void Break(const StepPlan& step, BreakReason reason, const std::string& op,
             Certainty certainty = Certainty::kAlways);
  static void AddBreak(Found found, Breaks* breaks);
  static void MoveBreaks(Breaks from, const Condition* condition, Breaks* to);

  const CaptureOptions& options_;
  Budget budget_;
  AbstractMemory memory_{&budget_};
  Planner planner_;
  absl::flat_hash_set<std::string> break_on_;
  Breaks found_;
  Breaks* breaks_ = &found_;
  Attributes assigned_;
  absl::flat_hash_map<std::pair<const c10::ivalue::Object*, size_t>, AbstractValue> attributes_;
  absl::flat_hash_map<const c10::FunctionSchema*, MetaUse> meta_uses_;
  int depth_ = 0;
  size_t num_breaks_ = 0;  // breaks that were met, repeated ones included
  size_t num_calls_ = 0;   // calls that the graphs would have
  LoopState loop_;         // of the innermost loop
};

}  // namespace graphnet::extract

#endif  // GRAPHNET_EXTRACT_FORETELLER_H_

// Internal: sizes of inputs that are symbols while a program is captured.
//
// A number that follows from them travels through the program as a c10::SymInt that
// knows its expression. Code that takes one for a plain number, LibTorch's too, pins
// it: the capture then holds for this number only, and a relation says so. How the
// sizes of other tensors follow from the symbols is found by running each operator
// without data for other values of them, too: for near, small and large ones.
#ifndef GRAPHNET_EXTRACT_DYNAMIC_SIZES_H_
#define GRAPHNET_EXTRACT_DYNAMIC_SIZES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "graphnet/extract/plan.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/shared_walk.h"

namespace graphnet::extract {

// The expression of a SymInt that a DynamicSizes has made.
const SymExpr& ExprOf(const c10::IValue& value);
// Whether there is a number in `values` that is not plain: such a SymInt, or one of run_number.h.
bool HasSymbols(const std::vector<c10::IValue>& values);
// A copy with the plain numbers of this run; `value` if it has no others.
c10::IValue WithoutSymbols(const c10::IValue& value);

class DynamicSizes {
 public:
  // Where the program is.
  void set_step(const StepPlan* step) { step_ = step; }

  // The size `dim` of an input is the symbol `name`; InvalidArgument if it has none.
  absl::Status Add(const at::Tensor& input, int64_t dim, const std::string& name);
  // Call it when all are there. Names whose sizes differ, or are 0 or 1, are no symbols.
  void Begin();

  // Which turn of a loop it is, from 0, as a symbol until EndLoop, where there are no
  // others. EndLoop says whether all that was run is so for any turn.
  c10::IValue BeginLoop(const std::string& name);
  bool EndLoop();

  bool any() const { return !module_->symbols().empty(); }
  // With the symbols and what the run has found to hold of them; where, for each.
  const Module& module() const { return *module_; }
  const std::vector<torchscript::Place>& places() const { return places_; }

  // --- Numbers ---------------------------------------------------------------------
  // What an operator on numbers yields, if it is arithmetic or a comparison that
  // expressions have; else nothing. Where the expression would become too large to be written
  // out, what it is made of is pinned.
  std::optional<c10::IValue> Compute(const std::string& op,
                                     const std::vector<c10::IValue>& operands);
  // Pins what is in lists and dicts in place, so that they stay who they are.
  c10::IValue Pin(const c10::IValue& value);
  int64_t Pin(const SymExpr& expr);

  // --- Tensors ---------------------------------------------------------------------
  bool IsDynamic(const at::Tensor& tensor) const { return Find(tensor) != nullptr; }
  bool AnyDynamic(const std::vector<c10::IValue>& operands) const;
  // The sizes of a dynamic tensor: numbers, or expressions.
  std::vector<Dim> DimsOf(const at::Tensor& tensor);
  // `step` has yielded `results` for `operands`.
  void Run(const StepPlan& step, const std::vector<c10::IValue>& operands,
           const std::vector<c10::IValue>& results);
  // What `step`, which looks at sizes only and has yielded `result`, yields in terms
  // of the symbols.
  c10::IValue Read(const StepPlan& step, const std::vector<c10::IValue>& operands,
                   const c10::IValue& result);

 private:
  struct Shadow {
    c10::weak_intrusive_ptr<c10::TensorImpl> tensor;  // keeps the address from being used again
    std::vector<at::Tensor> others;                   // without data, one a probe that works
  };
  const Shadow* Find(const at::Tensor& tensor) const;
  void MakeProbes();
  // Nothing if it has no value.
  std::optional<c10::IValue> Number(const SymExpr* expr);
  // Whether graphs and manifests, which write an expression out, can hold it.
  bool IsWritable(const SymExpr* expr);
  void Relate(SymExpr::Kind kind, const SymExpr* lhs, const SymExpr* rhs);
  // Nothing is known of how sizes depend on the symbols.
  void PinAll();
  c10::IValue ForProbe(const c10::IValue& value, size_t probe);
  // For these values of the symbols.
  std::optional<int64_t> Evaluate(const SymExpr& expr, const std::vector<int64_t>& values);
  // What `step` yields for tensors without data; throws if it does not work.
  std::vector<c10::IValue> RunProbe(const StepPlan& step, const std::vector<c10::IValue>& operands,
                                    size_t probe);
  // One for each probe; empty if `step` does not work for a near one.
  std::vector<std::vector<c10::IValue>> RunProbes(const StepPlan& step,
                                                  const std::vector<c10::IValue>& operands);
  // The expression, one of s + b, a * s + b and a * s * t, that is `size` in this run
  // and `others` in the probes; null if there is none.
  const SymExpr* Fit(int64_t size, const std::vector<int64_t>& others);
  bool Keep(const c10::IValue& result, const std::vector<c10::IValue>& others);

  struct Probe {
    std::vector<int64_t> values;  // of the symbols
    // Whether the program runs for them, so far. If not, a replay raises as it does.
    bool works = true;
  };

  std::unique_ptr<Module> module_ = std::make_unique<Module>();
  Expansions<const SymExpr*> expansions_;  // of those of the module
  std::vector<Probe> probes_;              // for each symbol two near ones, then others
  absl::flat_hash_map<const c10::TensorImpl*, Shadow> shadows_;
  std::vector<std::pair<at::Tensor, std::vector<std::pair<int64_t, std::string>>>> inputs_;
  std::vector<torchscript::Place> places_;
  const StepPlan* step_ = nullptr;
};

}  // namespace graphnet::extract

#endif  // GRAPHNET_EXTRACT_DYNAMIC_SIZES_H_

// Internal: sizes of inputs that are symbols while a program is captured.
//
// A number that follows from symbols travels through the program as a c10::SymInt that
// knows its expression. Code that uses it as a plain number, LibTorch's included, pins
// it: the capture then holds for this number only, and a relation says so. To find how
// the sizes of other tensors follow from the symbols, each operator also runs without
// data for other values of the symbols: near, small and large ones (the probes).
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

// Returns the expression of a SymInt that a DynamicSizes has made.
const SymExpr& ExprOf(const c10::IValue& value);
// Returns true if `values` hold a number that is not plain: such a SymInt, or one of run_number.h.
bool HasSymbols(const std::vector<c10::IValue>& values);
// Returns a copy with the plain numbers of this run; `value` itself if all its numbers are plain.
c10::IValue WithoutSymbols(const c10::IValue& value);

class DynamicSizes {
 public:
  // Sets the step that the program is at.
  void set_step(const StepPlan* step) { step_ = step; }

  // Makes the symbol `name` stand for size `dim` of an input; InvalidArgument if there is no such
  // dimension.
  absl::Status Add(const at::Tensor& input, int64_t dim, const std::string& name);
  // Call it after the last Add. Names whose sizes differ, or are 0 or 1, do not become symbols.
  void Begin();

  // Returns the number of the iteration of a loop, from 0, which is a symbol until EndLoop. There
  // must be no other symbols. EndLoop returns true if the code that ran does the same for any
  // iteration.
  c10::IValue BeginLoop(const std::string& name);
  bool EndLoop();

  bool any() const { return !module_->symbols().empty(); }
  // The module that has the symbols and the relations that the run found, and the place that each
  // relation comes from.
  const Module& module() const { return *module_; }
  const std::vector<torchscript::Place>& places() const { return places_; }

  // --- Numbers ---------------------------------------------------------------------
  // Returns the result of an operator on numbers, if it is arithmetic or a comparison that
  // expressions can hold; else nullopt. If the expression would become too large to be written
  // out, its operands are pinned.
  std::optional<c10::IValue> Compute(const std::string& op,
                                     const std::vector<c10::IValue>& operands);
  // Pins the numbers in `value`. Lists and dicts are changed in place, so they keep their identity.
  c10::IValue Pin(const c10::IValue& value);
  int64_t Pin(const SymExpr& expr);

  // --- Tensors ---------------------------------------------------------------------
  bool IsDynamic(const at::Tensor& tensor) const { return Find(tensor) != nullptr; }
  bool AnyDynamic(const std::vector<c10::IValue>& operands) const;
  // Returns the sizes of a dynamic tensor: numbers, or expressions.
  std::vector<Dim> DimsOf(const at::Tensor& tensor);
  // Finds the sizes of `results`, which `step` returned for `operands`.
  void Run(const StepPlan& step, const std::vector<c10::IValue>& operands,
           const std::vector<c10::IValue>& results);
  // Returns `result` in terms of the symbols; `step`, which looks at sizes only, returned it.
  c10::IValue Read(const StepPlan& step, const std::vector<c10::IValue>& operands,
                   const c10::IValue& result);

 private:
  struct Shadow {
    c10::weak_intrusive_ptr<c10::TensorImpl> tensor;  // keeps the address from being used again
    std::vector<at::Tensor> others;                   // without data, one for each working probe
  };
  const Shadow* Find(const at::Tensor& tensor) const;
  void MakeProbes();
  // Returns nullopt if the expression has no value.
  std::optional<c10::IValue> Number(const SymExpr* expr);
  // Returns whether graphs and manifests, which write an expression out, can hold it.
  bool IsWritable(const SymExpr* expr);
  void Relate(SymExpr::Kind kind, const SymExpr* lhs, const SymExpr* rhs);
  // Pins all symbols, since it is not known how sizes depend on them.
  void PinAll();
  c10::IValue ForProbe(const c10::IValue& value, size_t probe);
  // Evaluates `expr` for these values of the symbols.
  std::optional<int64_t> Evaluate(const SymExpr& expr, const std::vector<int64_t>& values);
  // Runs `step` on tensors without data; throws if that does not work.
  std::vector<c10::IValue> RunProbe(const StepPlan& step, const std::vector<c10::IValue>& operands,
                                    size_t probe);
  // Returns the results of each probe; empty if `step` does not work for a near one.
  std::vector<std::vector<c10::IValue>> RunProbes(const StepPlan& step,
                                                  const std::vector<c10::IValue>& operands);
  // Returns the expression, one of s + b, a * s + b and a * s * t, that is `size` in this run
  // and `others` in the probes; null if there is none.
  const SymExpr* Fit(int64_t size, const std::vector<int64_t>& others);
  bool Keep(const c10::IValue& result, const std::vector<c10::IValue>& others);

  struct Probe {
    std::vector<int64_t> values;  // of the symbols
    // True if the program has run for these values so far. If not, a replay raises the same error.
    bool works = true;
  };

  std::unique_ptr<Module> module_ = std::make_unique<Module>();
  Expansions<const SymExpr*> expansions_;  // of those of the module
  std::vector<Probe> probes_;              // two near ones for each symbol, then the others
  absl::flat_hash_map<const c10::TensorImpl*, Shadow> shadows_;
  std::vector<std::pair<at::Tensor, std::vector<std::pair<int64_t, std::string>>>> inputs_;
  std::vector<torchscript::Place> places_;
  const StepPlan* step_ = nullptr;
};

}  // namespace graphnet::extract

#endif  // GRAPHNET_EXTRACT_DYNAMIC_SIZES_H_

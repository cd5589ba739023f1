// Callable: what a target means. All that asks it looks here: lowering, effects, memory
// use, the passes, the interpreter and the exporters.
//
//   const Callable callee = CalleeOf(node);
//   absl::StatusOr<BoundCall> call = Bind(callee.overloads, …);   // binder.h
//
// To add what ATen lacks is a row of callables.txt and, where neither its flags nor its
// name say all, an adapter (adapters.h).
#ifndef GRAPHNET_OPS_CALLABLE_H_
#define GRAPHNET_OPS_CALLABLE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/node.h"
#include "graphnet/ops/python_operator.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

// How a call is written, which says which overloads Python sees.
enum class CallForm : uint8_t { kFunction, kMethod };

struct Callable {
  enum class Kind : uint8_t {
    kNone,            // nothing of PyTorch is called that
    kOperator,        // of ATen, or one whose facts are known, too (AddKnownOperator): `overloads`
    kFunction,        // of Python: `overloads`, rows of signatures.txt and callables.txt
    kPythonOperator,  // `python_operator`
    kForeign,         // an operator that no table has: TorchScript's own, a library's, or one that
                      // is declared; `overloads` is its schema if that is known
  };
  Kind kind = Kind::kNone;
  CallForm form = CallForm::kFunction;
  bool names_overload = false;  // the target is of one: aten.conv2d.padding
  bool is_binding = false;      // the target is a name of Python's for operators of ATen
  // "conv2d", "torch.cond", "add": the same for all spellings. Lives for good, or as
  // long as the target.
  absl::string_view name;
  absl::Span<const Schema> overloads;
  const PythonOperator* python_operator = nullptr;

  bool is_known() const { return kind != Kind::kNone; }
  // "torch.cond", "Tensor.to": a row of callables.txt or signatures.txt.
  bool is_function(absl::string_view function) const {
    return kind == Kind::kFunction && name == function;
  }
  // Whether PyTorch lacks the operator, and its schema is known: a library's, or a declared one.
  bool is_of_library() const {
    return !overloads.empty() &&
           (kind == Kind::kForeign || (kind == Kind::kOperator && !overloads[0].is_of_aten()));
  }
  // The schema of the operator of ATen or of a library that the target names; null if the target
  // names none.
  const Schema* named_operator() const {
    const bool names_one = is_of_library() || (kind == Kind::kOperator && names_overload);
    return names_one ? &overloads[0] : nullptr;
  }
  Schema::Bracket bracket() const {
    return kind == Kind::kFunction ? overloads[0].bracket : Schema::Bracket::kNone;
  }
};

// O(1); each thread remembers what it was asked lately.
Callable FindCallable(Op op, absl::string_view target);
inline Callable CalleeOf(const Node& node) { return FindCallable(node.op(), node.target()); }

// Of the call of a function, method or operator: "relu" of "torch.nn.functional.relu_" and of
// "aten.relu_.default".
absl::string_view BareName(const Node& call);

// What sort of thing the target of a call is.
enum class TargetKind {
  kNone,         // no call: placeholder, get_attr, output
  kFunction,     // torch.conv2d, aten.conv2d.default, math.floor
  kMethod,       // of Tensor
  kOperator,     // Python's: operator.add
  kHigherOrder,  // takes graphs: torch.cond
  kConstructor,  // makes a value of no tensor: torch.zeros, torch.tensor
  kModule,
};
absl::string_view TargetKindName(TargetKind kind);
TargetKind KindOfTarget(const Node& node);

// Whether a component of the name begins with an underscore, as in torch._C._nn:
// PyTorch promises nothing of it.
bool IsPrivateTarget(absl::string_view target);
// The public function that a private one is behind, by PyTorch's own naming:
// torch._C._nn.linear is torch.nn.functional.linear, torch._C._fft.fft_rfft is
// torch.fft.rfft. Empty if there is none, or the target is public.
std::string StableTarget(absl::string_view target);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_CALLABLE_H_

// Callable: the meaning of a target. Lowering, effects, memory use, the passes, the interpreter and
// the exporters all look it up here.
//
//   const Callable callee = CalleeOf(node);
//   absl::StatusOr<BoundCall> call = Bind(callee.overloads, …);   // binder.h
//
// To add a function that ATen lacks, add a row to callables.txt. If its flags and its name do not
// say everything, add an adapter too (adapters.h).
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

// The form of a call, which decides which overloads Python sees.
enum class CallForm : uint8_t { kFunction, kMethod };

// The meaning of one target.
struct Callable {
  enum class Kind : uint8_t {
    kNone,            // an unknown name
    kOperator,        // `overloads` of an operator of ATen, or of one from AddKnownOperator
    kFunction,        // a Python function: `overloads` are rows of signatures.txt and callables.txt
    kPythonOperator,  // `python_operator`
    kForeign,         // an operator in no table: TorchScript's own, a library's, or a declared one;
    // `overloads` has its schema if that is known
  };
  Kind kind = Kind::kNone;
  CallForm form = CallForm::kFunction;
  bool names_overload = false;  // the target includes an overload, as aten.conv2d.padding
  bool is_binding = false;      // the target is a Python binding of operators of ATen
  // "conv2d", "torch.cond", "add": the same for all spellings. Lives at least as long as the
  // target.
  absl::string_view name;
  absl::Span<const Schema> overloads;
  const PythonOperator* python_operator = nullptr;

  bool is_known() const { return kind != Kind::kNone; }
  // Returns whether it is this row of callables.txt or signatures.txt, such as "torch.cond".
  bool is_function(absl::string_view function) const {
    return kind == Kind::kFunction && name == function;
  }
  // Returns whether it is an operator of a library, or a declared one, whose schema is known.
  bool is_of_library() const {
    return !overloads.empty() &&
           (kind == Kind::kForeign || (kind == Kind::kOperator && !overloads[0].is_of_aten()));
  }
  // Returns the schema of the overload that the target names, of ATen or of a library; null if it
  // names none.
  const Schema* named_operator() const {
    const bool names_one = is_of_library() || (kind == Kind::kOperator && names_overload);
    return names_one ? &overloads[0] : nullptr;
  }
  Schema::Bracket bracket() const {
    return kind == Kind::kFunction ? overloads[0].bracket : Schema::Bracket::kNone;
  }
};

// Returns the meaning of a target. O(1): each thread caches its recent look-ups.
Callable FindCallable(Op op, absl::string_view target);
inline Callable CalleeOf(const Node& node) { return FindCallable(node.op(), node.target()); }

// Returns the name of a call's function, method or operator: "relu" for "torch.nn.functional.relu_"
// and for "aten.relu_.default".
absl::string_view BareName(const Node& call);

// Kinds of targets.
enum class TargetKind {
  kNone,         // not a call: placeholder, get_attr, output
  kFunction,     // torch.conv2d, aten.conv2d.default, math.floor
  kMethod,       // a method of Tensor
  kOperator,     // of Python: operator.add
  kHigherOrder,  // takes graphs: torch.cond
  kConstructor,  // makes a tensor from values that are not tensors: torch.zeros, torch.tensor
  kModule,
};
absl::string_view TargetKindName(TargetKind kind);
TargetKind KindOfTarget(const Node& node);

// Returns whether a component of the name begins with an underscore, as in torch._C._nn. PyTorch
// does not promise to keep such names.
bool IsPrivateTarget(absl::string_view target);
// Returns the public function that calls a private one, by PyTorch's naming:
// torch.nn.functional.linear for torch._C._nn.linear, torch.fft.rfft for torch._C._fft.fft_rfft.
// Empty if there is none, or if the target is public.
std::string StableTarget(absl::string_view target);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_CALLABLE_H_

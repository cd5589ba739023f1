// Lowering: a graph as PyTorch programs are written (torch.*, torch.nn.functional.*,
// Tensor methods, Python operators) becomes one whose calls are
//
//   ATen overloads         aten.conv2d.default(x, w, None, (1, 1), groups=8)
//   what Python itself does  operator.add(%n, 1) on numbers, operator.getitem,
//                          operator.setitem, builtins.getattr, math.floor, …
//   higher-order calls     torch.cond, torch.while_loop, torch.vmap
//
// with arguments in canonical form (binder.h). What a target means its Callable says
// (callable.h); where PyTorch's Python code does more than call the operator of its
// name, an adapter (adapters.h) says what.
#ifndef GRAPHNET_OPS_LOWERING_H_
#define GRAPHNET_OPS_LOWERING_H_

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/arena.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ops/binder.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/ops/value_type.h"

namespace graphnet {

struct LoweredModule {
  std::unique_ptr<Module> module;
  const Module* original = nullptr;  // that it was made of
  // For each node of `module` the node it was made for. The value of that one is
  // the value of the last of them, or what `values` says.
  NodeTable<const Node*> origins;
  // The value of each original node: a node of `module`, a constant, or a
  // structure of them. None of nodes that were made since.
  NodeTable<Argument> values;
};

// Whether the program computes gradients itself, by torch.autograd.grad: then what it runs
// is recorded, as PyTorch does outside of torch.no_grad.
bool AsksForGradients(const Module& module);

// InvalidArgument names the node, its line and what it lacks; near misses are
// told for a target that nothing resolves. With `refused`, there are no errors: a
// call that would give one is added there with it and kept as it is.
using RefusedCalls = absl::flat_hash_map<const Node*, absl::Status>;
absl::StatusOr<LoweredModule> LowerToAten(const Module& module, RefusedCalls* refused = nullptr);

// What adapters build with: it appends to the graph that is being made.
class Lowering {
 public:
  // Calls the ATen operator `name` (of the overloads the one that fits).
  absl::StatusOr<Argument> Aten(absl::string_view name, std::initializer_list<Argument> args,
                                std::initializer_list<KwArg> kwargs = {});
  // Calls what Python itself does.
  Argument Builtin(absl::string_view target, absl::Span<const Argument> args, ValueType type,
                   absl::Span<const KwArg> kwargs = {});
  // A Python operator, "add", on tensors, numbers or sequences.
  absl::StatusOr<Argument> Operator(absl::string_view name, absl::Span<const Argument> args);
  absl::StatusOr<Argument> Operator(const PythonOperator& op, absl::Span<const Argument> args);
  // The call that is being lowered as it is, arguments in canonical form.
  absl::StatusOr<Argument> Keep(const BoundCall& call, ValueType type);

  ValueType TypeOf(const Argument& argument) const;
  // What the parameters of a body of the module that is made are, where no
  // annotation says it.
  void SetParameterTypes(const Graph* body, absl::Span<const ValueType> types) {
    parameter_types_.try_emplace(body, types.begin(), types.end());
  }
  // A tensor, or a tuple of as many as `body` returns.
  ValueType ResultOfBody(const Graph& body);
  // Of the module that is being lowered.
  bool asks_for_gradients() {
    if (!asks_for_gradients_.has_value()) asks_for_gradients_ = AsksForGradients(*result_.original);
    return *asks_for_gradients_;
  }
  bool IsTensor(const Argument& argument) const { return TypeOf(argument).is_tensor(); }
  // Lists and tuples that live as long as this object.
  Argument List(absl::Span<const Argument> elements);
  Argument Tuple(absl::Span<const Argument> elements);
  absl::string_view Text(absl::string_view text) { return arena_.Copy(text); }
  Arena* arena() { return &arena_; }
  Module* module() { return result_.module.get(); }
  // InvalidArgument about the node that is being lowered.
  absl::Status Error(absl::string_view what) const;
  // The node that is being lowered.
  const Node& source() const { return *source_; }

 private:
  friend absl::StatusOr<LoweredModule> LowerToAten(const Module& module, RefusedCalls* refused);

  absl::Status LowerGraph(const Graph& from, Graph* to, RefusedCalls* refused);
  absl::StatusOr<Argument> LowerNode(const Node& node);
  absl::StatusOr<Argument> LowerCall(const Node& node);
  absl::StatusOr<BoundCall> BindTyped(const Callable& callee, absl::Span<const Argument> args,
                                      absl::Span<const KwArg> kwargs) const;
  absl::StatusOr<Argument> LowerFunction(const BoundCall& call);
  // By name from a function of Python to the operator of that name.
  absl::StatusOr<Argument> CallByName(const BoundCall& call);
  absl::StatusOr<Argument> CallAten(const Callable& callee, absl::Span<const Argument> args,
                                    absl::Span<const KwArg> kwargs);
  Argument Map(const Argument& argument);
  Node* Emit(absl::string_view target, absl::Span<const Argument> args,
             absl::Span<const KwArg> kwargs, ValueType type);
  absl::Status Unresolved(absl::string_view target) const;

  LoweredModule result_;
  Arena arena_;
  Graph* graph_ = nullptr;  // that is being made
  const Node* source_ = nullptr;
  NodeTable<ValueType> types_;
  absl::flat_hash_map<const Graph*, Graph*> graphs_;
  absl::flat_hash_map<const Graph*, const Graph*> originals_;  // the other way round
  absl::flat_hash_map<const Graph*, std::vector<ValueType>> parameter_types_;
  std::optional<bool> asks_for_gradients_;                     // once it is known
  absl::flat_hash_map<const Graph*, ValueType> body_results_;  // by what is being lowered
};

}  // namespace graphnet

#endif  // GRAPHNET_OPS_LOWERING_H_

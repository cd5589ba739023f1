// Lowering turns a graph with the calls of PyTorch programs (torch.*, torch.nn.functional.*,
// methods of Tensor, Python operators) into one whose calls are
//
//   ATen overloads         aten.conv2d.default(x, w, None, (1, 1), groups=8)
//   Python's own functions operator.add(%n, 1) on numbers, operator.getitem,
//                          operator.setitem, builtins.getattr, math.floor, …
//   higher-order calls     torch.cond, torch.while_loop, torch.vmap
//
// with arguments in canonical form (binder.h). A target's Callable says what it means (callable.h).
// If PyTorch's Python code does more than call the operator of its name, an adapter (adapters.h)
// lowers the call.
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

// A lowered module, and how it corresponds to the original.
struct LoweredModule {
  std::unique_ptr<Module> module;
  const Module* original = nullptr;  // the module that was lowered
  // For each node of `module`, the original node that it was made for. Several may be made for one.
  NodeTable<const Node*> origins;
  // The value of each original node: a node of `module`, a constant, or a structure of them. Nodes
  // that are added to the original later have no value here.
  NodeTable<Argument> values;
};

// Returns whether the program computes gradients itself with torch.autograd.grad. If so, its calls
// are recorded for gradients, as PyTorch does outside of torch.no_grad.
bool AsksForGradients(const Module& module);

// The errors of calls that lowering kept unchanged.
using RefusedCalls = absl::flat_hash_map<const Node*, absl::Status>;
// Lowers a module, which must outlive the result. InvalidArgument names the node, its line and what
// is wrong, with similar names if the target is unknown. If `refused` is given, there are no
// errors: a call that cannot be lowered is kept as it is and added to `refused` with its error.
absl::StatusOr<LoweredModule> LowerToAten(const Module& module, RefusedCalls* refused = nullptr);

// Adapters build with it: it appends nodes to the lowered graph.
class Lowering {
 public:
  // Calls the operator `name` of ATen; the arguments choose the overload.
  absl::StatusOr<Argument> Aten(absl::string_view name, std::initializer_list<Argument> args,
                                std::initializer_list<KwArg> kwargs = {});
  // Calls one of Python's own functions.
  Argument Builtin(absl::string_view target, absl::Span<const Argument> args, ValueType type,
                   absl::Span<const KwArg> kwargs = {});
  // Calls a Python operator, such as "add", on tensors, numbers or sequences.
  absl::StatusOr<Argument> Operator(absl::string_view name, absl::Span<const Argument> args);
  absl::StatusOr<Argument> Operator(const PythonOperator& op, absl::Span<const Argument> args);
  // Keeps the call that is being lowered, with its arguments in canonical form.
  absl::StatusOr<Argument> Keep(const BoundCall& call, ValueType type);

  ValueType TypeOf(const Argument& argument) const;
  // Sets the types of the parameters of a body of the lowered module. An annotation overrides them.
  void SetParameterTypes(const Graph* body, absl::Span<const ValueType> types) {
    parameter_types_.try_emplace(body, types.begin(), types.end());
  }
  // Returns the type of what `body` returns: a tensor or a tuple of tensors.
  ValueType ResultOfBody(const Graph& body);
  // Returns AsksForGradients of the module that is being lowered.
  bool asks_for_gradients() {
    if (!asks_for_gradients_.has_value()) asks_for_gradients_ = AsksForGradients(*result_.original);
    return *asks_for_gradients_;
  }
  bool IsTensor(const Argument& argument) const { return TypeOf(argument).is_tensor(); }
  // Make a list or tuple that lives as long as this object.
  Argument List(absl::Span<const Argument> elements);
  Argument Tuple(absl::Span<const Argument> elements);
  absl::string_view Text(absl::string_view text) { return arena_.Copy(text); }
  Arena* arena() { return &arena_; }
  Module* module() { return result_.module.get(); }
  // Returns InvalidArgument with the node that is being lowered and its line.
  absl::Status Error(absl::string_view what) const;
  // Returns the node that is being lowered.
  const Node& source() const { return *source_; }

 private:
  friend absl::StatusOr<LoweredModule> LowerToAten(const Module& module, RefusedCalls* refused);

  absl::Status LowerGraph(const Graph& from, Graph* to, RefusedCalls* refused);
  absl::StatusOr<Argument> LowerNode(const Node& node);
  absl::StatusOr<Argument> LowerCall(const Node& node);
  absl::StatusOr<BoundCall> BindTyped(const Callable& callee, absl::Span<const Argument> args,
                                      absl::Span<const KwArg> kwargs) const;
  absl::StatusOr<Argument> LowerFunction(const BoundCall& call);
  // Calls the operator of ATen that has the name of a Python function.
  absl::StatusOr<Argument> CallByName(const BoundCall& call);
  absl::StatusOr<Argument> CallAten(const Callable& callee, absl::Span<const Argument> args,
                                    absl::Span<const KwArg> kwargs);
  // Calls the overload that writes its results to `out`, a tensor or a sequence of them.
  absl::StatusOr<Argument> CallAtenWithOut(const Callable& callee, absl::Span<const Argument> args,
                                           absl::Span<const KwArg> kwargs, const Argument& out);
  Argument Map(const Argument& argument);
  Node* Emit(absl::string_view target, absl::Span<const Argument> args,
             absl::Span<const KwArg> kwargs, ValueType type);
  absl::Status Unresolved(absl::string_view target) const;

  LoweredModule result_;
  Arena arena_;
  Graph* graph_ = nullptr;  // the graph that is being made
  const Node* source_ = nullptr;
  NodeTable<ValueType> types_;
  absl::flat_hash_map<const Graph*, Graph*> graphs_;
  absl::flat_hash_map<const Graph*, const Graph*> originals_;  // from lowered to original
  absl::flat_hash_map<const Graph*, std::vector<ValueType>> parameter_types_;
  std::optional<bool> asks_for_gradients_;                     // nullopt: not computed yet
  absl::flat_hash_map<const Graph*, ValueType> body_results_;  // by body of the original
};

}  // namespace graphnet

#endif  // GRAPHNET_OPS_LOWERING_H_

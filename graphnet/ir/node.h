// Node: one operation of a Graph and the one value it yields, as in torch.fx.
#ifndef GRAPHNET_IR_NODE_H_
#define GRAPHNET_IR_NODE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/check.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/tensor_meta.h"

namespace graphnet {

class Graph;
class Module;
class Node;

// The kinds of nodes, as in torch.fx. Their numbers are part of the protobuf form.
enum class Op : uint8_t {
  kPlaceholder = 0,  // An input; the target is the parameter's name.
  kGetAttr,          // The target is the name of an attribute of the module.
  kCallFunction,     // The target is "torch.conv2d", "operator.add" or "aten.add.Tensor".
  kCallMethod,       // The target is "view"; the first argument is `self`.
  kCallModule,       // The target is the path of the submodule.
  kOutput,           // args[0] is the value that the graph returns.
};
absl::string_view OpName(Op op);  // Returns torch.fx's name, "call_function".

// The place in a program that a node comes from. Lines and columns count from 1; 0 means unknown.
// A node keeps columns up to 65535.
struct SourceLocation {
  absl::string_view file;  // The path of the file; empty if unknown.
  uint32_t line = 0;       // The line, or 0.
  uint32_t column = 0;     // The column, or 0.
};

// One use of a value. `add(x, x)` uses x twice. The operands of a node are the references to nodes
// in its args and then its kwargs, in the order in which they are written.
struct Use {
  Node* user;   // The node that takes the value.
  int operand;  // The index of the operand in `user`, from 0.
};

// A step of a graph and the value that it makes. Graphs make nodes in the arena of their Module,
// which owns them. A pointer to a node stays valid until the Module is destroyed; after EraseNode
// it may only be compared and iterated from. A node that was erased must not be changed.
class Node {
 public:
  // The kind of the node.
  Op op() const { return op_; }
  // A label that is unique in the graph.
  absl::string_view name() const { return {name_, name_size_}; }
  // The name of the thing that the node calls, reads or takes; see Op.
  absl::string_view target() const { return *target_; }
  // The graph that made the node.
  Graph* graph() const { return graph_; }
  // Its number among all nodes that were ever made in the module, from 0. It never changes, and no
  // other node gets it later. NodeTable is indexed by it.
  uint32_t index() const { return index_; }

  // True for an input.
  bool is_placeholder() const { return op_ == Op::kPlaceholder; }
  // True for the output.
  bool is_output() const { return op_ == Op::kOutput; }
  // True for a call of a function, method or module.
  bool is_call() const {
    return op_ == Op::kCallFunction || op_ == Op::kCallMethod || op_ == Op::kCallModule;
  }
  // True for a call of the function `target`.
  bool is_call_function(absl::string_view target) const {
    return op_ == Op::kCallFunction && *target_ == target;
  }
  // True for a call of the method `target`, which is written without a dot.
  bool is_call_method(absl::string_view target) const {
    return op_ == Op::kCallMethod && *target_ == target;
  }

  // The positional arguments, as a view that does not show a later set_args.
  absl::Span<const Argument> args() const { return absl::MakeConstSpan(args_, num_args_); }
  // The keyword arguments in the order in which they are written, as such a view.
  absl::Span<const KwArg> kwargs() const { return absl::MakeConstSpan(kwarg_array(), num_kwargs_); }
  // Returns the keyword argument of that name; null if there is none.
  const Argument* kwarg(absl::string_view name) const;
  // Returns the argument that the call gives for a parameter, by its position or else by its name;
  // null if it gives neither.
  const Argument* FindArg(absl::string_view name, size_t position) const {
    return position < num_args_ ? &args_[position] : kwarg(name);
  }
  // Calls fn(const Argument&) on all arguments and everything in them, aggregates before their
  // elements: first the args, then the values of the kwargs.
  template <typename Fn>
  void ForEachArgument(Fn&& fn) const {
    for (const Argument& arg : args()) graphnet::ForEachArgument(arg, fn);
    for (const KwArg& kwarg : kwargs()) graphnet::ForEachArgument(kwarg.value, fn);
  }
  // Returns whether an argument is a graph or contains one.
  bool HasBody() const;

  // Replaces all positional arguments by copies of `args`. Here and in the functions below, an
  // operand that is not a live node of this graph ends the program.
  void set_args(absl::Span<const Argument> args);
  // Replaces all keyword arguments by copies of `kwargs`.
  void set_kwargs(absl::Span<const KwArg> kwargs);
  // Replaces the i-th positional argument, which must exist, or the program ends.
  void set_arg(size_t i, const Argument& value);
  // Replaces the keyword argument of that name, or adds one behind the others.
  void set_kwarg(absl::string_view name, const Argument& value);
  // Replaces each argument that is not an aggregate, however deep it lies, by fn(argument).
  // Returns whether any argument changed.
  bool MapArguments(absl::FunctionRef<Argument(const Argument&)> fn);
  void set_target(absl::string_view target);  // Replaces the target, and keeps op and name.
  // Renames the node. Each run of characters that an identifier cannot hold becomes one "_", and
  // a name that another node has gets a suffix.
  void set_name(absl::string_view name);

  // --- Operands and uses -----------------------------------------------------
  // Calls fn(Node* operand) for every reference to a node, repeats included.
  template <typename Fn>
  void ForEachOperand(Fn&& fn) const {
    for (uint32_t i = 0; i < num_args_; ++i) Visit(args_[i], fn);
    for (uint32_t i = 0; i < num_kwargs_; ++i) Visit(kwarg_array()[i].value, fn);
  }
  // Returns the operands as ForEachOperand visits them.
  std::vector<Node*> operands() const;
  // Replaces the i-th operand, which must exist, or the program ends. O(operands of this node).
  void SetOperand(int i, Node* value);
  // Replaces every operand `from` by `to`.
  void ReplaceInput(Node* from, Node* to);

  // The number of uses.
  int num_uses() const { return static_cast<int>(num_uses_); }
  // True if a node takes the value.
  bool has_uses() const { return num_uses_ > 0; }
  // Uses and users are copies, so the graph may change while they are read. Up to four need no
  // memory of the heap.
  using Uses = absl::InlinedVector<Use, 4>;
  // The nodes that use a value.
  using Users = absl::InlinedVector<Node*, 4>;
  // Returns all uses, in an order that is unspecified but deterministic. O(operands of the users).
  Uses uses() const;
  // Returns each user once, in the order of the graph. O(u log u) for u uses.
  Users users() const;
  // Makes all uses of this node uses of `value`. O(uses).
  void ReplaceAllUsesWith(Node* value);
  // Makes those uses for which `replace(user)` is true uses of `value`. `replace` is called once
  // for each use and must not change the graph. O(uses).
  template <typename Fn>
  void ReplaceUsesWithIf(Node* value, Fn&& replace) {
    CheckOperand(value);
    for (uint32_t i = num_uses_; i-- > 0;) {
      UseEntry e = use_array()[i];
      if (replace(e.user)) Relink(e, value);
    }
  }

  // --- Order -----------------------------------------------------------------
  // Returns whether this node comes before `other`. Both must be live nodes of one graph. O(1).
  bool IsBefore(const Node* other) const { return order_ < other->order_; }
  // Returns the next live node; null at the end.
  Node* next() const {
    Node* n = next_;
    while (n != nullptr && n->erased_) n = n->next_;
    return n;
  }
  Node* prev() const;  // Returns the live node before; null at the start.
  // True after Graph::EraseNode.
  bool is_erased() const { return erased_; }

  // --- Facts about the value and its origin ----------------------------------
  // The meta of the value; null if unknown.
  const ValueMeta* meta() const { return meta_; }
  // The meta if the value is known to be one tensor, else null.
  const TensorMeta* tensor_meta() const { return meta_ ? meta_->tensor : nullptr; }
  // Sets the meta to a copy of `meta`, which may be of any module or null.
  void set_meta(const ValueMeta* meta);

  SourceLocation location() const;                    // The place that the node comes from.
  void set_location(const SourceLocation& location);  // Sets the place; copies the path.
  // The path of the submodule that the operation belongs to ("layer1.0.conv1"), or empty.
  absl::string_view module_path() const {
    return rare_ && rare_->module_path ? *rare_->module_path : absl::string_view();
  }
  void set_module_path(absl::string_view path);  // Sets the path; empty removes it.
  // The written type of a value ("torch.nn.parameter.Parameter"), or empty.
  absl::string_view annotation() const {
    return rare_ && rare_->annotation ? *rare_->annotation : absl::string_view();
  }
  void set_annotation(absl::string_view annotation);  // Sets the annotation; empty removes it.
  // The draw spec of a placeholder; null if there is none.
  const DrawSpec* draw_spec() const { return rare_ ? rare_->draw_spec : nullptr; }
  void set_draw_spec(const DrawSpec& spec);  // Sets the draw spec to a copy of `spec`.
  // Removes the draw spec.
  void clear_draw_spec() {
    if (rare_) rare_->draw_spec = nullptr;
  }

 private:
  friend class Graph;
  friend class Module;
  friend class Arena;
  friend class UncheckedBuilder;
  friend class Verifier;
  friend class IrTestPeer;
  struct UseEntry {
    Node* user;
    Argument* slot;  // The operand, inside `user`.
  };
  // Fields that few nodes have. They are allocated when one is first set.
  struct Rare {
    const absl::string_view* module_path = nullptr;  // interned in the module
    const absl::string_view* annotation = nullptr;
    const DrawSpec* draw_spec = nullptr;
  };
  Node() = default;

  template <typename Fn>
  static void Visit(const Argument& arg, Fn& fn) {
    if (arg.is_node()) {
      fn(arg.u_.node);
    } else if (arg.is_aggregate()) {
      for (const Argument& element : arg.elements()) Visit(element, fn);
    }
  }
  KwArg* kwarg_array() const { return reinterpret_cast<KwArg*>(args_ + num_args_); }
  // Ends the program unless `operand` is a live node of this node's graph.
  void CheckOperand(const Node* operand) const {
    if (operand == nullptr || operand->graph_ != graph_ || operand->erased_) [[unlikely]] {
      RefuseOperand(operand);
    }
  }
  [[noreturn]] ABSL_ATTRIBUTE_COLD void RefuseOperand(const Node* operand) const;
  // Replaces the argument in `slot` by a copy of `value`.
  void StoreArgument(Argument* slot, const Argument& value);
  // Replaces all arguments. Their content must be in the arena already.
  void StoreArguments(absl::Span<const Argument> args, absl::Span<const KwArg> kwargs);
  uint32_t use_capacity() const { return uint32_t{1} << use_capacity_log2_; }
  UseEntry* use_array() { return use_capacity_log2_ == 0 ? &inline_use_ : uses_; }
  const UseEntry* use_array() const { return use_capacity_log2_ == 0 ? &inline_use_ : uses_; }
  void AddUse(Node* user, Argument* slot);
  void RemoveUse(Argument* slot);
  // Gives a separate array of uses back to the module for reuse.
  void FreeUseArray();
  static void Relink(UseEntry use, Node* value);
  // Adds this node to the uses of all its operands, or removes it from them.
  void LinkOperands();
  void UnlinkOperands();
  void UnlinkArgument(Argument& arg);
  void LinkArgument(Argument& arg);
  Rare& rare();

  Graph* graph_ = nullptr;
  Node* prev_ = nullptr;
  Node* next_ = nullptr;
  uint64_t order_ = 0;
  const absl::string_view* target_ = nullptr;  // in the module's arena
  const char* name_ = nullptr;
  Argument* args_ = nullptr;  // the keyword arguments follow right behind
  const ValueMeta* meta_ = nullptr;
  Rare* rare_ = nullptr;
  union {
    UseEntry inline_use_ = {nullptr, nullptr};  // use_capacity_log2_ == 0
    UseEntry* uses_;
  };
  uint32_t num_uses_ = 0;
  uint32_t name_size_ = 0;
  uint32_t num_args_ = 0;
  uint32_t num_kwargs_ = 0;
  uint32_t line_ = 0;
  uint32_t file_ = 0;  // index in the module's table of files; 0: none
  uint32_t index_ = 0;
  uint16_t column_ = 0;  // saturates
  Op op_ = Op::kPlaceholder;
  uint8_t erased_ : 1 = 0;
  uint8_t use_capacity_log2_ : 7 = 0;
};

// Nodes are most of the memory of a graph.
static_assert(sizeof(void*) != 8 || sizeof(Node) == 120);

}  // namespace graphnet

#endif  // GRAPHNET_IR_NODE_H_

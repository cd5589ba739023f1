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

// torch.fx's op kinds. The numbers are part of the protobuf form.
enum class Op : uint8_t {
  kPlaceholder = 0,  // target: the parameter's name
  kGetAttr,          // target: the name of a module attribute
  kCallFunction,     // target: "torch.conv2d", "operator.add", "aten.add.Tensor"
  kCallMethod,       // target: "view"; the first argument is `self`
  kCallModule,       // target: the submodule's path
  kOutput,           // args[0]: what the graph returns
};
absl::string_view OpName(Op op);  // "call_function"

// A place in the program that a node comes from. Lines and columns count from
// 1; 0 means unknown. A node keeps columns up to 65535.
struct SourceLocation {
  absl::string_view file;
  uint32_t line = 0;
  uint32_t column = 0;
};

// One use of a value: the user and which of its operands. `add(x, x)` uses x
// twice. Operands are the node references in args, then kwargs, in the order
// they are written.
struct Use {
  Node* user;
  int operand;
};

// Nodes live in the arena of their Module and are made by their Graph. A
// pointer to a node stays valid until the Module dies; after EraseNode it may
// only be compared and iterated from.
class Node {
 public:
  Op op() const { return op_; }
  // A label, unique in the graph.
  absl::string_view name() const { return {name_, name_size_}; }
  absl::string_view target() const { return *target_; }
  Graph* graph() const { return graph_; }
  // Its number among the nodes that were ever made in the module, from 0: what
  // NodeTable goes by. It never changes and is not given again.
  uint32_t index() const { return index_; }

  bool is_placeholder() const { return op_ == Op::kPlaceholder; }
  bool is_output() const { return op_ == Op::kOutput; }
  bool is_call() const {
    return op_ == Op::kCallFunction || op_ == Op::kCallMethod || op_ == Op::kCallModule;
  }
  bool is_call_function(absl::string_view target) const {
    return op_ == Op::kCallFunction && *target_ == target;
  }
  bool is_call_method(absl::string_view target) const {
    return op_ == Op::kCallMethod && *target_ == target;
  }

  absl::Span<const Argument> args() const { return absl::MakeConstSpan(args_, num_args_); }
  absl::Span<const KwArg> kwargs() const { return absl::MakeConstSpan(kwarg_array(), num_kwargs_); }
  // Null when there is none of that name.
  const Argument* kwarg(absl::string_view name) const;
  // What the call gives a parameter, by its position or else by its name; null when neither.
  const Argument* FindArg(absl::string_view name, size_t position) const {
    return position < num_args_ ? &args_[position] : kwarg(name);
  }
  // Calls fn(const Argument&) on all arguments and what they contain, parents first: args,
  // then the values of kwargs.
  template <typename Fn>
  void ForEachArgument(Fn&& fn) const {
    for (const Argument& arg : args()) graphnet::ForEachArgument(arg, fn);
    for (const KwArg& kwarg : kwargs()) graphnet::ForEachArgument(kwarg.value, fn);
  }
  // Whether an argument is, or contains, a graph.
  bool HasBody() const;

  // Replace arguments. Operands must be live nodes of this graph, or the program ends here.
  void set_args(absl::Span<const Argument> args);
  void set_kwargs(absl::Span<const KwArg> kwargs);
  void set_arg(size_t i, const Argument& value);
  void set_kwarg(absl::string_view name, const Argument& value);  // adds it if there is none
  // Puts fn(argument) in the place of each argument, however deep, that is no aggregate.
  // Returns whether one differs from what was there.
  bool MapArguments(absl::FunctionRef<Argument(const Argument&)> fn);
  void set_target(absl::string_view target);
  // Takes `name` with all that cannot be in an identifier made "_", or a variant
  // of it if another node has it.
  void set_name(absl::string_view name);

  // --- Operands and uses -----------------------------------------------------
  // Calls fn(Node* operand) for every node reference, repeats included.
  template <typename Fn>
  void ForEachOperand(Fn&& fn) const {
    for (uint32_t i = 0; i < num_args_; ++i) Visit(args_[i], fn);
    for (uint32_t i = 0; i < num_kwargs_; ++i) Visit(kwarg_array()[i].value, fn);
  }
  std::vector<Node*> operands() const;
  // Replaces the i-th operand. O(operands of this node).
  void SetOperand(int i, Node* value);
  // Replaces every operand `from` by `to`.
  void ReplaceInput(Node* from, Node* to);

  int num_uses() const { return static_cast<int>(num_uses_); }
  bool has_uses() const { return num_uses_ > 0; }
  // Copies, so that the graph may change while they are read. O(uses); a value of at most four
  // uses takes no memory.
  using Uses = absl::InlinedVector<Use, 4>;
  using Users = absl::InlinedVector<Node*, 4>;
  // The order is unspecified but deterministic.
  Uses uses() const;
  // Each user once, in the graph's order.
  Users users() const;
  // Points all uses of this node to `value`. O(uses).
  void ReplaceAllUsesWith(Node* value);
  // Points the uses for which `replace(user)` is true to `value`. It is called once a use and
  // must not change the graph.
  template <typename Fn>
  void ReplaceUsesWithIf(Node* value, Fn&& replace) {
    CheckOperand(value);
    for (uint32_t i = num_uses_; i-- > 0;) {
      UseEntry e = use_array()[i];
      if (replace(e.user)) Relink(e, value);
    }
  }

  // --- Order -----------------------------------------------------------------
  // Both must be live nodes of one graph. O(1).
  bool IsBefore(const Node* other) const { return order_ < other->order_; }
  Node* next() const {  // null at the end
    Node* n = next_;
    while (n != nullptr && n->erased_) n = n->next_;
    return n;
  }
  Node* prev() const;  // null at the start
  bool is_erased() const { return erased_; }

  // --- What is known of the value and where it comes from --------------------
  // Null when unknown.
  const ValueMeta* meta() const { return meta_; }
  // The meta when the value is known to be one tensor, else null.
  const TensorMeta* tensor_meta() const { return meta_ ? meta_->tensor : nullptr; }
  void set_meta(const ValueMeta* meta);

  SourceLocation location() const;
  void set_location(const SourceLocation& location);
  // The path of the submodule that the operation belongs to ("layer1.0.conv1").
  absl::string_view module_path() const {
    return rare_ && rare_->module_path ? *rare_->module_path : absl::string_view();
  }
  void set_module_path(absl::string_view path);
  // The written type of a value ("torch.nn.parameter.Parameter"), or empty.
  absl::string_view annotation() const {
    return rare_ && rare_->annotation ? *rare_->annotation : absl::string_view();
  }
  void set_annotation(absl::string_view annotation);
  // Placeholders only: how their value is drawn; null when not said.
  const DrawSpec* draw_spec() const { return rare_ ? rare_->draw_spec : nullptr; }
  void set_draw_spec(const DrawSpec& spec);
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
  // Rarely used fields, made when first set.
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
  // Ends the program unless `operand` is a live node of the graph of this one.
  void CheckOperand(const Node* operand) const {
    if (operand == nullptr || operand->graph_ != graph_ || operand->erased_) [[unlikely]] {
      RefuseOperand(operand);
    }
  }
  [[noreturn]] ABSL_ATTRIBUTE_COLD void RefuseOperand(const Node* operand) const;
  // Puts a copy of `value` in the place of one of the arguments.
  void StoreArgument(Argument* slot, const Argument& value);
  // Makes these the arguments; what they contain is in the arena already.
  void StoreArguments(absl::Span<const Argument> args, absl::Span<const KwArg> kwargs);
  uint32_t use_capacity() const { return uint32_t{1} << use_capacity_log2_; }
  UseEntry* use_array() { return use_capacity_log2_ == 0 ? &inline_use_ : uses_; }
  const UseEntry* use_array() const { return use_capacity_log2_ == 0 ? &inline_use_ : uses_; }
  void AddUse(Node* user, Argument* slot);
  void RemoveUse(Argument* slot);
  // Gives the array of uses, if there is one, back to the module.
  void FreeUseArray();
  static void Relink(UseEntry use, Node* value);
  // Registers, or drops, this node as a user of all it refers to.
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

// Most of the memory of a graph.
static_assert(sizeof(void*) != 8 || sizeof(Node) == 120);

}  // namespace graphnet

#endif  // GRAPHNET_IR_NODE_H_

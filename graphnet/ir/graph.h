// Graph: a list of nodes in program order, in torch.fx's vocabulary.
//
//   Module module;
//   Graph* g = module.AddGraph("forward");
//   Node* x = g->Placeholder("x");
//   Node* y = g->CallFunction("torch.relu", {x});
//   Node* z = g->CallMethod("view", {y, -1, 10});
//   g->Output(z);
//   for (Node* node : g->nodes()) { … }            // erasing `node` is fine
//   y->ReplaceAllUsesWith(x);
//   g->EraseNode(y);
//
// Any number of threads may read one module at a time; one that changes it must be
// alone. See Module::DeriveFrom for modules that share memory.
#ifndef GRAPHNET_IR_GRAPH_H_
#define GRAPHNET_IR_GRAPH_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/node.h"

namespace graphnet {

class Module;

// Forward iteration in program order. An erased node keeps its links, so an
// iterator that stands on it finds its way back to the live ones.
class NodeIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = Node*;
  using difference_type = std::ptrdiff_t;
  using pointer = Node* const*;
  using reference = Node*;
  explicit NodeIterator(Node* node) : node_(node) {}
  Node* operator*() const { return node_; }
  NodeIterator& operator++() {
    node_ = node_->next();
    return *this;
  }
  friend bool operator==(NodeIterator a, NodeIterator b) { return a.node_ == b.node_; }
  friend bool operator!=(NodeIterator a, NodeIterator b) { return a.node_ != b.node_; }

 private:
  Node* node_;
};

struct NodeRange {
  Node* first;
  NodeIterator begin() const { return NodeIterator(first); }
  NodeIterator end() const { return NodeIterator(nullptr); }
};

class Graph {
 public:
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Module* module() const { return module_; }
  absl::string_view name() const { return name_; }

  // --- Reading ---------------------------------------------------------------
  NodeRange nodes() const { return {first_}; }
  Node* first() const { return first_; }
  Node* last() const { return last_; }
  size_t num_nodes() const { return num_nodes_; }
  std::vector<Node*> placeholders() const;
  // The output node; null while there is none.
  Node* output() const;
  // Null when no node has that name. The first call builds an index; several threads
  // may be the first.
  Node* FindNode(absl::string_view name) const;

  // --- Building (at the insertion point, by default the end) -----------------
  // An empty `name` lets the graph choose one after the target. A name that is
  // taken gets a suffix, as in torch.fx ("relu", "relu_1"). Operands must be live nodes
  // of this graph, bodies graphs of its module, or the program ends here. Readers that
  // know the names to be unique use unchecked_builder.h.
  Node* Placeholder(absl::string_view target, absl::string_view name = {});
  Node* GetAttr(absl::string_view target, absl::string_view name = {});
  Node* CallFunction(absl::string_view target, absl::Span<const Argument> args,
                     absl::Span<const KwArg> kwargs = {}, absl::string_view name = {});
  Node* CallMethod(absl::string_view target, absl::Span<const Argument> args,
                   absl::Span<const KwArg> kwargs = {}, absl::string_view name = {});
  Node* CallModule(absl::string_view target, absl::Span<const Argument> args,
                   absl::Span<const KwArg> kwargs = {}, absl::string_view name = {});
  Node* Output(const Argument& value);
  Node* CreateNode(Op op, absl::string_view target, absl::Span<const Argument> args,
                   absl::Span<const KwArg> kwargs = {}, absl::string_view name = {});
  // A call that stands for `origin` or works on it: of a method if `target` is written
  // with a dot in front (".view"), else of a function. It takes origin's name (or the
  // next that is free), location, module path, meta and, from a call, annotation. It
  // goes right before `origin`, or right behind it if it takes it as an operand; for an
  // origin of another graph to the insertion point.
  Node* CallLike(const Node& origin, absl::string_view target, absl::Span<const Argument> args,
                 absl::Span<const KwArg> kwargs = {});

  // New nodes go before this node; null: to the end. When the node is erased,
  // the one after it takes its part; when it is moved, the point goes along.
  Node* insertion_point() const { return insertion_point_; }
  void set_insertion_point(Node* before) {
    insertion_point_ = before != nullptr && before->is_erased() ? before->next() : before;
  }

  // Copies `node` (of any graph of any module) to the insertion point, its
  // operands mapped by `map`, graph arguments by `map_graph` (by default they
  // must belong to this module and are shared). Name, location, module path,
  // annotation, meta and draw spec are copied.
  Node* CopyNodeFrom(const Node& node, absl::FunctionRef<Node*(Node*)> map);
  Node* CopyNodeFrom(const Node& node, absl::FunctionRef<Node*(Node*)> map,
                     absl::FunctionRef<Graph*(Graph*)> map_graph);

  // --- Changing --------------------------------------------------------------
  // The node must have no uses.
  void EraseNode(Node* node);
  // Moves `node` before `before` (null: to the end).
  void MoveBefore(Node* node, Node* before);
  // Erases calls and get_attrs that nobody uses and that `is_pure` vouches for,
  // and what dies with them. Placeholders stay. Returns how many were erased.
  size_t EliminateDeadCode(absl::FunctionRef<bool(const Node&)> is_pure);
  // A name derived from `candidate` that no node has.
  std::string UniqueName(absl::string_view candidate);

 private:
  friend class Module;
  friend class Node;
  friend class UncheckedBuilder;
  friend class Verifier;
  friend class IrTestPeer;
  Graph(Module* module, absl::string_view name) : module_(module), name_(name) {}

  // `name` is unique, as UncheckedBuilder says it.
  Node* MakeNode(Op op, absl::string_view target, absl::Span<const Argument> args,
                 absl::Span<const KwArg> kwargs, absl::string_view name);
  void SetName(Node* node, absl::string_view name);
  Node* CopyNode(const Node& node, bool unique_name, absl::FunctionRef<Node*(Node*)> map,
                 absl::FunctionRef<Graph*(Graph*)> map_graph);
  // Ditto from a module that this one shares memory with.
  Node* CopySharedNode(const Node& node, bool unique_name, absl::FunctionRef<Node*(Node*)> map,
                       absl::FunctionRef<Graph*(Graph*)> map_graph);
  Argument CopySharedArgument(const Argument& argument, absl::FunctionRef<Node*(Node*)> map,
                              absl::FunctionRef<Graph*(Graph*)> map_graph, bool* has_node);
  // A node without arguments that is in no list yet; `name` is the module's.
  Node* NewNode(Op op, const absl::string_view* target, absl::string_view name);
  // `name` in the module, where the one of a placeholder is mostly its target.
  absl::string_view CopyName(Op op, absl::string_view target, absl::string_view name);
  // Room for the arguments of a new node.
  void AllocateArguments(Node* node, size_t num_args, size_t num_kwargs);
  void BuildNameIndex() const;
  void IndexName(Node* node);
  void LinkBefore(Node* node, Node* before);
  void AssignOrder(Node* node);
  void ForgetName(const Node* node);

  Module* module_;
  absl::string_view name_;
  Node* first_ = nullptr;
  Node* last_ = nullptr;
  Node* insertion_point_ = nullptr;
  size_t num_nodes_ = 0;
  // Built when a name is first looked up or made, so that an imported graph
  // that is only read does not pay for it.
  mutable absl::Mutex name_index_mutex_;  // held while readers build it
  mutable std::atomic<bool> has_name_index_ = false;
  mutable absl::flat_hash_map<absl::string_view, Node*> by_name_;
  // Where to go on counting for a base name, so that making n equal names
  // costs O(n).
  absl::flat_hash_map<std::string, int> next_suffix_;
};

// Sets the insertion point for a scope.
class InsertionGuard {
 public:
  InsertionGuard(Graph* graph, Node* before) : graph_(graph), saved_(graph->insertion_point()) {
    graph_->set_insertion_point(before);
  }
  ~InsertionGuard() { graph_->set_insertion_point(saved_); }
  InsertionGuard(const InsertionGuard&) = delete;
  InsertionGuard& operator=(const InsertionGuard&) = delete;

 private:
  Graph* graph_;
  Node* saved_;
};

}  // namespace graphnet

#endif  // GRAPHNET_IR_GRAPH_H_

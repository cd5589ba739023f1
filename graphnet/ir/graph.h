// Graph: a list of nodes in program order, in torch.fx's vocabulary.
//
//   Module module;
//   Graph* g = module.AddGraph("forward");
//   Node* x = g->Placeholder("x");
//   Node* y = g->CallFunction("torch.relu", {x});
//   Node* z = g->CallMethod("view", {y, -1, 10});
//   g->Output(z);
//   for (Node* node : g->nodes()) { … }            // may erase `node`
//   y->ReplaceAllUsesWith(x);
//   g->EraseNode(y);
//
// Any number of threads may read one module at the same time. A thread that changes a module must
// be the only one that uses it. See Module::DeriveFrom for modules that share memory.
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

// A forward iterator over nodes in program order. An erased node keeps its links, so an iterator
// at an erased node still finds the next live one.
class NodeIterator {
 public:
  using iterator_category = std::forward_iterator_tag;  // It only goes forward.
  using value_type = Node*;                             // A node.
  using difference_type = std::ptrdiff_t;               // Required by the standard library.
  using pointer = Node* const*;                         // Required by the standard library.
  using reference = Node*;                              // A node, by value.
  // Starts at `node`; null is the end.
  explicit NodeIterator(Node* node) : node_(node) {}
  // The node.
  Node* operator*() const { return node_; }
  // Goes to the next live node.
  NodeIterator& operator++() {
    node_ = node_->next();
    return *this;
  }
  // True if both are at the same node.
  friend bool operator==(NodeIterator a, NodeIterator b) { return a.node_ == b.node_; }
  // The opposite of ==.
  friend bool operator!=(NodeIterator a, NodeIterator b) { return a.node_ != b.node_; }

 private:
  Node* node_;
};

// The nodes of a graph from one of them on, for a range-based for loop.
struct NodeRange {
  Node* first;  // The first node, or null.
  // At the first node.
  NodeIterator begin() const { return NodeIterator(first); }
  // Behind the last node.
  NodeIterator end() const { return NodeIterator(nullptr); }
};

// A list of nodes in program order. Modules make graphs (Module::AddGraph) and own them.
class Graph {
 public:
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // The module that owns the graph.
  Module* module() const { return module_; }
  // A label that is unique in the module.
  absl::string_view name() const { return name_; }

  // --- Reading ---------------------------------------------------------------
  // All nodes, in program order.
  NodeRange nodes() const { return {first_}; }
  // The first node; null in an empty graph.
  Node* first() const { return first_; }
  // The last node; null in an empty graph.
  Node* last() const { return last_; }
  // The number of live nodes.
  size_t num_nodes() const { return num_nodes_; }
  std::vector<Node*> placeholders() const;  // Returns the inputs in order. O(nodes).
  // Returns the output node; null if there is none.
  Node* output() const;
  // Returns the node of that name; null if there is none. The first call builds an index, which
  // several threads may do at the same time.
  Node* FindNode(absl::string_view name) const;

  // --- Building (at the insertion point, by default the end) -----------------
  // Adds an input. This function and those below copy their arguments and return the new node,
  // which the module owns. The graph derives an empty `name` from the target, and a name that is
  // taken gets a suffix, as in torch.fx ("relu", "relu_1"). If an operand is not a live node of
  // this graph, or a body not a graph of its module, the program ends. Readers of formats whose
  // names are unique use unchecked_builder.h.
  Node* Placeholder(absl::string_view target, absl::string_view name = {});
  // Adds a read of the module's attribute `target`.
  Node* GetAttr(absl::string_view target, absl::string_view name = {});
  // Adds a call of a function, "torch.relu".
  Node* CallFunction(absl::string_view target, absl::Span<const Argument> args,
                     absl::Span<const KwArg> kwargs = {}, absl::string_view name = {});
  // Adds a call of a method, "view", of args[0].
  Node* CallMethod(absl::string_view target, absl::Span<const Argument> args,
                   absl::Span<const KwArg> kwargs = {}, absl::string_view name = {});
  // Adds a call of the submodule at the path `target`.
  Node* CallModule(absl::string_view target, absl::Span<const Argument> args,
                   absl::Span<const KwArg> kwargs = {}, absl::string_view name = {});
  // Adds the output node, which returns `value`.
  Node* Output(const Argument& value);
  // Adds a node of any kind.
  Node* CreateNode(Op op, absl::string_view target, absl::Span<const Argument> args,
                   absl::Span<const KwArg> kwargs = {}, absl::string_view name = {});
  // Adds a call that replaces `origin` or works on it: a call of a method if `target` starts with
  // a dot (".view"), else of a function. It gets origin's name (or the next that is free),
  // location, module path and meta, and the annotation if `origin` is a call. It goes right before
  // `origin`. If `origin` is its operand, it goes right behind it, and if `origin` is a
  // placeholder, behind the placeholders. If `origin` is erased or of another graph, the call goes
  // to the insertion point.
  Node* CallLike(const Node& origin, absl::string_view target, absl::Span<const Argument> args,
                 absl::Span<const KwArg> kwargs = {});

  // The node before which new nodes go; null for the end. If that node is erased, the node after
  // it becomes the insertion point; if it is moved, the insertion point moves with it.
  Node* insertion_point() const { return insertion_point_; }
  // Sets the insertion point. An erased node counts as the live node after it.
  void set_insertion_point(Node* before) {
    insertion_point_ = before != nullptr && before->is_erased() ? before->next() : before;
  }

  // Copies `node`, of any graph of any module, to the insertion point, with map(operand) in place
  // of each operand. Bodies must belong to this module, and are shared. Name, location, module
  // path, annotation, meta and draw spec are copied; a name that is taken gets a suffix.
  Node* CopyNodeFrom(const Node& node, absl::FunctionRef<Node*(Node*)> map);
  // The same, with map_graph(body) in place of each body.
  Node* CopyNodeFrom(const Node& node, absl::FunctionRef<Node*(Node*)> map,
                     absl::FunctionRef<Graph*(Graph*)> map_graph);

  // --- Changing --------------------------------------------------------------
  // Removes `node`, which must be live and have no uses, or the program ends. O(its operands).
  void EraseNode(Node* node);
  // Moves `node` before `before`, or to the end if `before` is null. O(log n) amortised.
  void MoveBefore(Node* node, Node* before);
  // Erases get_attrs that have no uses, calls that have no uses and for which `is_pure` returns
  // true, and then the nodes that become unused. Placeholders stay. Returns the number of nodes
  // that it erased. O(nodes).
  size_t EliminateDeadCode(absl::FunctionRef<bool(const Node&)> is_pure);
  // Returns an identifier derived from `candidate` that is not the name of a node.
  std::string UniqueName(absl::string_view candidate);

 private:
  friend class Module;
  friend class Node;
  friend class UncheckedBuilder;
  friend class Verifier;
  friend class IrTestPeer;
  Graph(Module* module, absl::string_view name) : module_(module), name_(name) {}

  // `name` must be unique, as UncheckedBuilder requires.
  Node* MakeNode(Op op, absl::string_view target, absl::Span<const Argument> args,
                 absl::Span<const KwArg> kwargs, absl::string_view name);
  void SetName(Node* node, absl::string_view name);
  Node* CopyNode(const Node& node, bool unique_name, absl::FunctionRef<Node*(Node*)> map,
                 absl::FunctionRef<Graph*(Graph*)> map_graph);
  // Like CopyNode, from a module that shares its memory with this one.
  Node* CopySharedNode(const Node& node, bool unique_name, absl::FunctionRef<Node*(Node*)> map,
                       absl::FunctionRef<Graph*(Graph*)> map_graph);
  Argument CopySharedArgument(const Argument& argument, absl::FunctionRef<Node*(Node*)> map,
                              absl::FunctionRef<Graph*(Graph*)> map_graph, bool* has_node);
  // Makes a node without arguments that is in no list yet. The module must own `name`.
  Node* NewNode(Op op, const absl::string_view* target, absl::string_view name);
  // Copies `name` to the module, unless it equals the target of a placeholder, as it mostly does.
  absl::string_view CopyName(Op op, absl::string_view target, absl::string_view name);
  // Allocates the arguments of a new node.
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
  // The index of names. It is built when a name is first looked up or made, so that an imported
  // graph that is only read does not pay for it.
  mutable absl::Mutex name_index_mutex_;  // Held while a reader builds the index.
  mutable std::atomic<bool> has_name_index_ = false;
  mutable absl::flat_hash_map<absl::string_view, Node*> by_name_;
  // The next suffix to try for a base name, so that making n equal names costs O(n).
  absl::flat_hash_map<std::string, int> next_suffix_;
};

// Sets the insertion point of a graph for a scope, and restores the old one at its end.
class InsertionGuard {
 public:
  // Sets the insertion point before `before`, or to the end if it is null.
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

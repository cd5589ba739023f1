// Shared by the reader and the lowering, which both make graphs in PIR's terms: access to values by
// their position among the results of an operation. An operation with several results is a node
// whose meta is a tuple. Each result is an operator.getitem of it, which is made right behind the
// operation when it is first needed. A vec, which is one result of several tensors, is also a
// tuple, but annotated "vec".
#ifndef GRAPHNET_PADDLE_PIR_BUILDER_H_
#define GRAPHNET_PADDLE_PIR_BUILDER_H_

#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/module.h"

namespace graphnet::pir {

inline constexpr absl::string_view kVec = "vec";

// Returns the number of results of an operation.
inline size_t NumResults(const Node& node) {
  const ValueMeta* meta = node.meta();
  const bool is_tuple = meta != nullptr && meta->is_tuple && node.annotation() != kVec;
  return is_tuple ? meta->elements.size() : 1;
}
inline bool HasSeveralResults(const Node& node) {
  return node.meta() != nullptr && node.meta()->is_tuple && node.annotation() != kVec;
}
// Returns whether a result of batch_norm_ is the memory that it reserves for its gradient, whose
// size is unknown.
inline bool IsReserve(const Node& node, size_t i) {
  return i == 5 && node.is_call_function("pd_op.batch_norm_");
}
inline const ValueMeta* ResultMeta(const Node& node, size_t i) {
  return HasSeveralResults(node) ? node.meta()->elements[i] : node.meta();
}
// Returns whether `node` is one result of several, and if so sets `*of` to the operation and `*i`
// to the position.
inline bool IsResult(const Node& node, const Node** of, size_t* i) {
  if (!node.is_call_function("operator.getitem") || node.args().size() != 2 ||
      !node.kwargs().empty() || !node.args()[0].is_node() || !node.args()[1].is_int()) {
    return false;
  }
  *of = node.args()[0].node();
  const int64_t index = node.args()[1].integer();
  if ((*of)->is_placeholder() || !HasSeveralResults(**of) || index < 0 ||
      index >= static_cast<int64_t>(NumResults(**of))) {
    return false;
  }
  *i = static_cast<size_t>(index);
  return true;
}

class ResultTable {
 public:
  // Returns the i-th result of `node`, which must have more than `i`.
  Node* Result(Node* node, size_t i) {
    if (!HasSeveralResults(*node)) return node;
    Node*& made = made_[{node, i}];
    if (made != nullptr && !made->is_erased()) return made;
    Graph* graph = node->graph();
    Node*& last = last_.try_emplace(node, node).first->second;
    if (last->is_erased()) last = node;
    const InsertionGuard guard(graph, last->next());
    made = graph->CallFunction("operator.getitem", {node, static_cast<int64_t>(i)});
    made->set_meta(ResultMeta(*node, i));
    if (made->meta() != nullptr && made->meta()->is_tuple) made->set_annotation(kVec);
    last = made;
    return made;
  }

 private:
  absl::flat_hash_map<std::pair<Node*, size_t>, Node*> made_;
  absl::flat_hash_map<Node*, Node*> last_;
};

// The symbols of a module that stand for unknown sizes, and new ones of that kind.
class MadeSymbols {
 public:
  // These are the symbols of `module` from the `first`-th on. It must outlive this.
  MadeSymbols(const Module* module, size_t first) : module_(*module), first_(first) {}

  bool Has(const SymExpr* expr) const;
  // Declares a symbol in `to` that neither module has: D0, D1, …
  const SymExpr* New(Module* to);

 private:
  const Module& module_;
  size_t first_;
  size_t next_ = 0;
};

// Declares the symbols that an expression or meta mentions, in that order.
void DeclareSymbols(const SymExpr* expr, Module* module);
void DeclareSymbols(const ValueMeta* meta, Module* module);

// Names all nodes after their targets, in the order of the graphs, since text of PIR has no names.
void NameNodes(Module* module);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_BUILDER_H_

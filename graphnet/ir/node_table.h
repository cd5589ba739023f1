// NodeTable: a T for every node of one module, as an array that goes by
// Node::index(). Unlike a hash map by address it is read in the order in which the
// nodes are, so that a large graph costs no more a node than a small one.
//
//   NodeTable<int> depth(*module);
//   depth[node] = 1 + depth[operand];
#ifndef GRAPHNET_IR_NODE_TABLE_H_
#define GRAPHNET_IR_NODE_TABLE_H_

#include <cstddef>
#include <vector>

#include "graphnet/ir/module.h"

namespace graphnet {

template <typename T>
class NodeTable {
 public:
  NodeTable() = default;
  // Has room for the nodes that the module has now; others may follow.
  explicit NodeTable(const Module& module) : slots_(module.num_indices()) {}

  // T() until it is set.
  T& operator[](const Node* node) {
    if (node->index() >= slots_.size()) slots_.resize(node->graph()->module()->num_indices());
    return slots_[node->index()].value;
  }
  const T& operator[](const Node* node) const {
    static const Slot kNone;
    return (node->index() < slots_.size() ? slots_[node->index()] : kNone).value;
  }
  // Calls fn(T&) for all that was set, and for some that were not.
  template <typename Fn>
  void ForEach(Fn&& fn) {
    for (Slot& slot : slots_) fn(slot.value);
  }

 private:
  struct Slot {  // Also of a bool, which std::vector would pack.
    T value = T();
  };
  std::vector<Slot> slots_;
};

}  // namespace graphnet

#endif  // GRAPHNET_IR_NODE_TABLE_H_

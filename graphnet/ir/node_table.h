// NodeTable: a T for each node of one module, as an array that is indexed by Node::index(). A walk
// over the nodes reads it in order, unlike a hash map by address, so a node of a large graph costs
// no more than one of a small graph.
//
//   NodeTable<int> depth(*module);
//   depth[node] = 1 + depth[operand];
#ifndef GRAPHNET_IR_NODE_TABLE_H_
#define GRAPHNET_IR_NODE_TABLE_H_

#include <cstddef>
#include <vector>

#include "graphnet/ir/module.h"

namespace graphnet {

// A T for each node of one module. T must be default constructible.
template <typename T>
class NodeTable {
 public:
  NodeTable() = default;
  // Allocates a slot for each node that the module has now. The table grows for later nodes.
  explicit NodeTable(const Module& module) : slots_(module.num_indices()) {}

  // Returns the slot of `node`, which holds T() until it is set. The table may grow here, which
  // invalidates references to slots.
  T& operator[](const Node* node) {
    if (node->index() >= slots_.size()) slots_.resize(node->graph()->module()->num_indices());
    return slots_[node->index()].value;
  }
  // Returns the slot of `node`, or T() if it was never set.
  const T& operator[](const Node* node) const {
    static const Slot kNone;
    return (node->index() < slots_.size() ? slots_[node->index()] : kNone).value;
  }
  // Calls fn(T&) for each slot that was set, and for some that were not.
  template <typename Fn>
  void ForEach(Fn&& fn) {
    for (Slot& slot : slots_) fn(slot.value);
  }

 private:
  struct Slot {  // A struct, so that std::vector does not pack bools.
    T value = T();
  };
  std::vector<Slot> slots_;
};

}  // namespace graphnet

#endif  // GRAPHNET_IR_NODE_TABLE_H_

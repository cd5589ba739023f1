// Facts about the paths of values through a graph: dominators and liveness.
//
//   const Dataflow flow(*graph);
//   if (flow.Dominator(node) == operand) std::cout << "node needs what operand is\n";
//   for (const Node* value : flow.LiveBehind(node)) std::cout << value->name();
//
// Only operands count, not the order of writes to memory (facts/memory/effects.h).
#ifndef GRAPHNET_IR_DATAFLOW_H_
#define GRAPHNET_IR_DATAFLOW_H_

#include <vector>

#include "graphnet/ir/graph.h"
#include "graphnet/ir/node_table.h"

namespace graphnet {

// The facts of one graph, which must outlive this object and must not change.
class Dataflow {
 public:
  // O(nodes + operands) for most graphs; at worst, times the depth of the graph.
  explicit Dataflow(const Graph& graph);

  // Returns the last node that uses a value; null if none does.
  const Node* LastUse(const Node* value) const { return last_use_[value]; }
  // Returns the values that are made at `node` or before it and used behind it, in program order.
  // O(nodes).
  std::vector<const Node*> LiveBehind(const Node* node) const;

  // Returns the nearest other node that is on each path of operands from a node without operands (an
  // input, an attribute, a constructor) to `node`; null if there is none.
  const Node* Dominator(const Node* node) const { return dominators_[node].nearest; }
  // Returns the nearest other node that is on each path from `node` to the end of a path, which is the
  // output or a value that nothing uses; null if there is none.
  const Node* PostDominator(const Node* node) const { return post_dominators_[node].nearest; }

 private:
  struct Place {
    const Node* nearest = nullptr;
    int depth = 0;  // in the tree of dominators
  };
  // Returns the nearest node on both ways from `a` and `b` to the root; null is the root.
  static const Node* Join(const NodeTable<Place>& tree, const Node* a, const Node* b);

  const Graph& graph_;
  NodeTable<const Node*> last_use_;
  NodeTable<Place> dominators_;
  NodeTable<Place> post_dominators_;
};

}  // namespace graphnet

#endif  // GRAPHNET_IR_DATAFLOW_H_

// The values whose sizes depend on the data of tensors, such as x[:n.item()] and x[x > 0]. If their
// metas have sizes as numbers, these are the sizes of one run, and nothing may be computed with them.
#ifndef GRAPHNET_FACTS_SHAPES_SIZES_OF_RUN_H_
#define GRAPHNET_FACTS_SHAPES_SIZES_OF_RUN_H_

#include "absl/container/flat_hash_set.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Takes the nodes of graphs in their order, and says of each whether it has such sizes. What it is
// not sure of counts as such a value, so that more calls are left to be computed at run time.
class SizesOfRun {
 public:
  // Takes a node whose operands it has taken. A node that is taken again counts as new.
  void Add(const Node& node);
  // Takes all nodes of a module. What goes into a call with bodies goes into the bodies, and what
  // they return is its result.
  void AddAll(const Module& module);

  // Returns whether `node` is a tensor, or a structure with one, whose sizes depend on data, or a
  // number that does.
  bool Has(const Node& node) const { return found_.contains(&node); }

 private:
  bool DependsOnData(const Node& node) const;
  bool IsMadeOfNumbers(const Node& node) const;
  bool IsPlain(const Node& node) const { return plain_.contains(&node); }

  absl::flat_hash_set<const Node*> found_;
  absl::flat_hash_set<const Node*> plain_;  // tensors of numbers that no data is in
};

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_SIZES_OF_RUN_H_

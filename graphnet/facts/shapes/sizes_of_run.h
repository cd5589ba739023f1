// The values whose sizes depend on the data of tensors, such as x[:n.item()] and x[x > 0]. If their
// metas have sizes as numbers, these are the sizes of one run, and nothing may be computed with them.
#ifndef GRAPHNET_FACTS_SHAPES_SIZES_OF_RUN_H_
#define GRAPHNET_FACTS_SHAPES_SIZES_OF_RUN_H_

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Says of each node of a module whether it has such sizes. A value of which this is not certain
// counts as one that has, so that more calls are left to be computed at run time.
class SizesOfRun {
 public:
  // Takes all nodes of a module. The operands of a call with bodies are those of the bodies, too,
  // and its result is what they return.
  void AddAll(const Module& module);

  // Returns whether `node` is a tensor, or a structure with one, whose sizes depend on data, or a
  // number that does.
  bool Has(const Node& node) const { return found_.contains(&node); }

 private:
  // Takes a node whose operands it has taken. A node that is taken again counts as new.
  void Add(const Node& node);
  bool DependsOnData(const Node& node) const;
  bool IsMadeOfNumbers(const Node& node) const;
  bool IsPlain(const Node& node) const { return plain_.contains(&node); }

  absl::flat_hash_set<const Node*> found_;
  absl::flat_hash_set<absl::string_view> assigned_;  // names of attributes of TorchScript
  absl::flat_hash_set<const Node*> plain_;           // tensors of numbers that no data is in
};

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_SIZES_OF_RUN_H_

// Finds operands that have no effect on the rest of a graph in a given run.
#ifndef GRAPHNET_INTERP_DEAD_PATHS_H_
#define GRAPHNET_INTERP_DEAD_PATHS_H_

#include <map>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/container/flat_hash_set.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Watches the values of a run. A product with a tensor that is all zeros (layer scale 0, an
// activation that is 0 everywhere) does not depend on its other operands, and where() with a
// condition that is constant ignores one operand: two graphs that differ there have equal outputs.
class DeadPaths {
 public:
  // `values` are those of inputs and attributes, by name.
  explicit DeadPaths(const std::map<std::string, TensorData>& values);

  void See(const Node& node, const c10::IValue& value);
  // One line for each node, in order: "%mul = aten.mul.Tensor takes zeros only as %scale".
  const std::vector<std::string>& found() const { return found_; }

 private:
  bool HoldsZeros(const Node& node) const;

  absl::flat_hash_set<std::string> given_zeros_;
  absl::flat_hash_set<const Node*> zeros_;
  absl::flat_hash_set<const Node*> trues_;
  std::vector<std::string> found_;
};

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_DEAD_PATHS_H_

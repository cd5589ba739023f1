// From what a call is given back to the input that it is: which inputs the values of a graph
// are, and how those are drawn.
#ifndef GRAPHNET_PASSES_TRACED_INPUTS_H_
#define GRAPHNET_PASSES_TRACED_INPUTS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"
#include "graphnet/ops/lowering.h"

namespace graphnet {

// An input of the main graph, or an attribute, whose value is drawn.
struct TracedInput {
  absl::string_view name;
  const TensorMeta* meta = nullptr;  // null: unknown
  DrawSpec spec = {};                // nothing is said
};

class TracedInputs {
 public:
  // `lowered` is what LowerToAten made of `module`. Both must outlive it.
  TracedInputs(Module* module, const LoweredModule& lowered);

  // Calls `found` for each input whose elements `value`, of the lowered module, consists of:
  // through views, copies, conversions and the operands of calls with bodies. `seen` has what was
  // followed before, which is not followed again.
  void Follow(const Node* value, absl::flat_hash_set<const Node*>* seen,
              absl::FunctionRef<void(const Node& input)> found) const;

  TracedInput Get(const Node& input) const;
  void SetSpec(const Node& input, const DrawSpec& spec);

  // "12:5: %y", of a call of the lowered module: as the original has it.
  std::string Place(const Node& call) const;

 private:
  void FollowParameter(const Node& parameter, absl::flat_hash_set<const Node*>* seen,
                       absl::FunctionRef<void(const Node& input)> found) const;

  Module* const module_;
  const LoweredModule& lowered_;
  absl::flat_hash_map<const Graph*, std::vector<const Node*>> callers_;
};

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_TRACED_INPUTS_H_

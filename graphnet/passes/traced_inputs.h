// Traces the operands of calls back to inputs, and reads and sets how these are drawn.
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
  const TensorMeta* meta = nullptr;  // null if unknown
  DrawSpec spec = {};                // empty if there is none
};

class TracedInputs {
 public:
  // `lowered` is the result of LowerToAten on `module`. Both must outlive this object.
  TracedInputs(Module* module, const LoweredModule& lowered);

  // Calls `found` for each input that `value`, of the lowered module, takes its elements from,
  // through views, copies, conversions and the operands of calls with bodies. Values in `seen` are
  // not followed again.
  void Follow(const Node* value, absl::flat_hash_set<const Node*>* seen,
              absl::FunctionRef<void(const Node& input)> found) const;

  TracedInput Get(const Node& input) const;
  void SetSpec(const Node& input, const DrawSpec& spec);

  // Returns the place of a call of the lowered module in the original one, such as "12:5: %y".
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

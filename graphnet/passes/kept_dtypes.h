// Internal to change-dtype: what keeps its dtype because the user wants it.
#ifndef GRAPHNET_PASSES_KEPT_DTYPES_H_
#define GRAPHNET_PASSES_KEPT_DTYPES_H_

#include <cstddef>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/call_scope.h"

namespace graphnet {

struct KeptDTypes {
  absl::flat_hash_set<const Node*> calls;  // they compute in their old dtype
  // The operands that a call needs in their old dtype, by call.
  absl::flat_hash_map<const Node*, absl::flat_hash_set<const Node*>> operands;
};

// Finds what keeps its dtype. With `norms` these are weights, biases and running statistics of norms;
// batch_norm takes them beside another input, and other norms compute in the old dtype. Calls outside of
// the scope keep theirs, and so do the inputs that only those use. The errors are those of CallScope.
absl::StatusOr<KeptDTypes> FindKeptDTypes(const Module& module, bool norms, const CallScope& scope);

// Removes conversions to `to` of values that have this dtype already, and those of a wider value that
// was made from one by a conversion. `dtype_of` says the dtype of a value. Returns their number.
size_t RemoveConversions(Module* module, DType to,
                         absl::FunctionRef<DType(const Node* value)> dtype_of);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_KEPT_DTYPES_H_

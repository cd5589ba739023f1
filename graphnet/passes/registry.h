// The passes that a pipeline can name: all linked ones (pass.h, RegisteredPass).
#ifndef GRAPHNET_PASSES_REGISTRY_H_
#define GRAPHNET_PASSES_REGISTRY_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Returns all registered passes, sorted by name. The span stays valid but does not include passes
// that are registered later. The program ends if two passes have one name. Thread-safe.
absl::Span<const Pass> AllPasses();
// Returns the pass of that name, or null. Thread-safe.
const Pass* FindPass(absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_REGISTRY_H_

// The passes that a pipeline can name: all that are linked (pass.h, RegisteredPass).
#ifndef GRAPHNET_PASSES_REGISTRY_H_
#define GRAPHNET_PASSES_REGISTRY_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// All passes that are registered, sorted by name. What is returned stays valid; a pass that is
// registered later is not in it. The program ends when two passes have one name. Thread-safe.
absl::Span<const Pass> AllPasses();
// The pass of that name, or null.
const Pass* FindPass(absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_REGISTRY_H_

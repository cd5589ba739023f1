// All passes that a pipeline can name.
#ifndef GRAPHNET_PASSES_REGISTRY_H_
#define GRAPHNET_PASSES_REGISTRY_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// By name.
absl::Span<const Pass> AllPasses();
// Null when there is none of that name.
const Pass* FindPass(absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_REGISTRY_H_

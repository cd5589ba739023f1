// Internal: one spelling for calls that scripting and tracing write differently.
#ifndef GRAPHNET_EXTRACT_SPELLING_H_
#define GRAPHNET_EXTRACT_SPELLING_H_

#include <vector>

#include "ATen/core/ivalue.h"
#include "graphnet/base/arena.h"
#include "graphnet/formats/torchscript/call_form.h"

namespace graphnet::extract {

// Rewrites calls that scripting and tracing write differently. The call still does the same on
// `operands`:
//   _convolution                       conv1d, conv2d, conv3d
//   split_with_sizes                   split.sizes
//   norm over dimensions               linalg_vector_norm
//   upsample_*(x, size, …, scales…)    upsample_*.vec(x, size or None, …, scales or None)
//   slice, select                      dimensions counted from the front; the bounds 0 and
//                                      the largest integer are None
//   pin_memory = False                 left out
// New arguments live in `arena`.
void SpellAsScripts(const std::vector<c10::IValue>& operands, Arena* arena,
                    torchscript::CallForm* form);

}  // namespace graphnet::extract

#endif  // GRAPHNET_EXTRACT_SPELLING_H_

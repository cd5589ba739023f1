// Internal: one spelling for what scripting and tracing write in two ways.
#ifndef GRAPHNET_EXTRACT_SPELLING_H_
#define GRAPHNET_EXTRACT_SPELLING_H_

#include "graphnet/formats/torchscript/call_form.h"

namespace graphnet::extract {

// Rewrites the calls that only tracing writes as scripts do: aten._convolution as
// conv1d, conv2d or conv3d, and the bounds 0 and the largest integer of a slice as
// None. The call does the same.
void SpellAsScripts(torchscript::CallForm* form);

}  // namespace graphnet::extract

#endif  // GRAPHNET_EXTRACT_SPELLING_H_

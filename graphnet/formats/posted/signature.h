// The graph signature that PyTorch prints below an exported program:
//
//   # inputs
//   p_weight: PARAMETER target='weight'
//   x: USER_INPUT
//
//   # outputs
//   add: BUFFER_MUTATION target='running_mean'
//   linear: USER_OUTPUT
#ifndef GRAPHNET_FORMATS_POSTED_SIGNATURE_H_
#define GRAPHNET_FORMATS_POSTED_SIGNATURE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/posted/find_graphs.h"
#include "graphnet/formats/posted/lines.h"
#include "graphnet/ir/module.h"

namespace graphnet::posted {

// Gives the main graph the form that an exported program has here (formats/pt2/importer.h):
// parameters, buffers and constants are attributes, and values that the caller writes back become
// calls of aten.copy_. Unknown lines are left out with a note. InvalidArgument, "LINE:COLUMN: …", if
// the signature contradicts the graph.
absl::Status ApplySignature(const Lines& lines, const Range& range, Module* module,
                            std::vector<std::string>* notes);

// Adds relations for the bounds in "Range constraints: {s0: VR[2, 100]}".
void AddRanges(absl::string_view words, Module* module);

}  // namespace graphnet::posted

#endif  // GRAPHNET_FORMATS_POSTED_SIGNATURE_H_

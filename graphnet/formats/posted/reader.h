// Reads graphs as people post them: the text of print_readable(), str(exported_program) and
// GraphModule.code, PyTorch's repro files, and logs of TORCH_LOGS. Nothing is executed.
//
// Around the graphs, there may be anything: other lines are skipped. What a graph says of its values
// goes where an exported program has it: metas, the places in files, attributes, symbols.
#ifndef GRAPHNET_FORMATS_POSTED_READER_H_
#define GRAPHNET_FORMATS_POSTED_READER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"

namespace graphnet::posted {

// Returns whether the text holds what looks like a graph that PyTorch printed; code that people
// write does not. `must_be_readable` asks for a graph that ReadGraph can read. O(size of the text).
bool LooksLikePosted(absl::string_view text, bool must_be_readable);

// Returns the names of the graphs of a text in order. What looks like a graph and cannot be read is
// left out if another one can be.
std::vector<std::string> ListGraphs(absl::string_view text);

// Returns the graph of that name, or the first one that can be read if it is empty. Its name is that
// of the graph. `notes`, unless null, receives what was left out. Errors: NotFound if there is no
// graph of that name, ResourceExhausted beyond kMaxTextLines, and InvalidArgument, "LINE:COLUMN: …",
// if it cannot be read.
absl::StatusOr<Sample> ReadGraph(absl::string_view text, absl::string_view name,
                                 std::vector<std::string>* notes);

}  // namespace graphnet::posted

#endif  // GRAPHNET_FORMATS_POSTED_READER_H_

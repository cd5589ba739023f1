// Values of one's own for nodes, which a page shows at each of them: statistics, a profile, or
// whatever else a table says by the name of a node.
#ifndef GRAPHNET_VIEW_NODE_VALUES_H_
#define GRAPHNET_VIEW_NODE_VALUES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/json.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// A table with a row for each node that has values.
struct NodeValues {
  std::vector<std::string> columns;
  // A cell for each column: a number, a text, or null.
  absl::flat_hash_map<const Node*, std::vector<Json>> rows;
  // How many rows of a file name no node of the module, and the name in the first of them.
  size_t unknown = 0;
  std::string first_unknown;
};

// Reads the values of nodes of `module`, which must outlive the result, from a text:
//
// - CSV, whose first line names the columns. Names of nodes are in the column "node"; without it,
//   in the first one.
// - JSON that is an object of names with values, {"relu": 0.5} or {"relu": {"ms": 0.5}}.
// - JSON that has a list of objects with a member "node" somewhere, as what `run --stats --json` and
//   `run --profile-by node --json` print.
//
// A name may begin with "%", and ends before " = ". A later row of a name replaces an earlier one.
// InvalidArgument with `file` if the text has no such form, has more than 1,000 columns, or no row is of
// a node.
absl::StatusOr<NodeValues> ParseNodeValues(absl::string_view text, absl::string_view file,
                                           const Module& module);

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_NODE_VALUES_H_

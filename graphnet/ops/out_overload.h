// Overloads that write their results to tensors that they are given, such as aten.add.out. The table
// of them is outs.txt, which make_schemas.py writes.
#ifndef GRAPHNET_OPS_OUT_OVERLOAD_H_
#define GRAPHNET_OPS_OUT_OVERLOAD_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/ir/node.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

// An overload that does what an operator of the table of operators does, but writes its results to
// given tensors.
struct OutForm {
  std::string maker;                    // "aten.max.dim", which makes new tensors
  std::string target;                   // "aten.max.dim_max"
  std::vector<absl::string_view> outs;  // "max", "max_values": a keyword for each result, in order
  bool is_of_python = false;            // Python's function calls it where it is given `out`
  bool lacks_options = false;           // the dtype, layout, device and pin_memory of new tensors
};

// Returns the form of an operator that makes new tensors; null if it has none.
const OutForm* FindOutForm(const Schema& maker);

// Returns whether an argument describes new tensors, and forms that lack options do not have it.
bool IsOption(absl::string_view argument);

// Returns the schema of a call that writes its results to tensors that it is given, of which the
// table of operators knows only the overload that makes new ones; nullopt for all other calls. The
// given tensors are the last arguments of the schema, one for each result, in their order.
std::optional<Schema> OutOverload(const Node& node);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_OUT_OVERLOAD_H_

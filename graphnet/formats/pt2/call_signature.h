// How a program of torch.export is called, and what becomes of what it is called with.
#ifndef GRAPHNET_FORMATS_PT2_CALL_SIGNATURE_H_
#define GRAPHNET_FORMATS_PT2_CALL_SIGNATURE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/formats/pt2/json.h"
#include "graphnet/formats/pt2/tree_spec.h"

namespace graphnet::pt2 {

struct CallSignature {
  TreeSpec in_spec;  // (args, kwargs)
  TreeSpec out_spec;
  std::vector<std::string> argument_names;  // forward's; empty: not said
};

// Of the program as a whole, from GraphModule.module_call_graph; nullopt: it does not say.
// InvalidArgument for what is not as the schema has it.
absl::StatusOr<std::optional<CallSignature>> ReadCallSignature(Json module_call_graph);

struct UserInput {
  std::string name;  // of the graph's value; empty: a constant, which a caller can only repeat
  bool is_tensor = false;
};

// One a leaf of in_spec, from GraphModule.signature. InvalidArgument as above.
absl::StatusOr<std::vector<UserInput>> ReadUserInputs(Json signature);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_CALL_SIGNATURE_H_

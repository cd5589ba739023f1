// Reads how a program of torch.export is called, and which graph inputs the arguments become.
#ifndef GRAPHNET_FORMATS_PT2_CALL_SIGNATURE_H_
#define GRAPHNET_FORMATS_PT2_CALL_SIGNATURE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/formats/pt2/json.h"
#include "graphnet/formats/pt2/tree_spec.h"

namespace graphnet::pt2 {

// The structures of a program's arguments and results.
struct CallSignature {
  TreeSpec in_spec;  // (args, kwargs)
  TreeSpec out_spec;
  std::vector<std::string> argument_names;  // of forward; empty if the program has none
};

// Reads the signature of the whole program from GraphModule.module_call_graph; nullopt if it has
// none. InvalidArgument for JSON that does not follow the schema.
absl::StatusOr<std::optional<CallSignature>> ReadCallSignature(Json module_call_graph);

// An argument of the program as its caller sees it.
struct UserInput {
  std::string name;  // the graph's value; empty for a constant, which callers must repeat
  bool is_tensor = false;
};

// Reads one input for each leaf of in_spec from GraphModule.signature. InvalidArgument as above.
absl::StatusOr<std::vector<UserInput>> ReadUserInputs(Json signature);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_CALL_SIGNATURE_H_

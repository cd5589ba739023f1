#include "graphnet/formats/pt2/input_structure.h"

#include <optional>
#include <utility>

#include "graphnet/base/status.h"
#include "graphnet/formats/pt2/call_signature.h"
#include "graphnet/formats/pt2/importer.h"
#include "graphnet/formats/pt2/json.h"

namespace graphnet::pt2 {
absl::StatusOr<InputStructure> ReadInputStructure(const Sample& sample) {
  const auto program = sample.extra_files.find(std::string(kProgramFile));
  if (program == sample.extra_files.end())
    return absl::NotFoundError("not a program of torch.export");
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(program->second));
  Json graph_module, signature, calls;
  RETURN_IF_ERROR(ReadFields(document.root(), {{"graph_module", &graph_module}}));
  RETURN_IF_ERROR(
      ReadFields(graph_module, {{"signature", &signature}, {"module_call_graph", &calls}}));
  InputStructure structure;
  ASSIGN_OR_RETURN(const std::vector<UserInput> inputs, ReadUserInputs(signature));
  for (const UserInput& input : inputs) structure.inputs.push_back(input.name);
  ASSIGN_OR_RETURN(std::optional<CallSignature> call, ReadCallSignature(calls));
  if (call && call->in_spec.children.size() == 2 && call->in_spec.num_leaves() == inputs.size()) {
    structure.spec = std::move(call->in_spec);
    return structure;
  }
  return absl::InvalidArgumentError("the program has no usable call signature");
}

}  // namespace graphnet::pt2

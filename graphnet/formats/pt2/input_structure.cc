#include "graphnet/formats/pt2/input_structure.h"

#include "graphnet/base/status.h"
#include "graphnet/formats/pt2/importer.h"
#include "graphnet/formats/pt2/json.h"

namespace graphnet::pt2 {
namespace {

// The name of a tensor or a size; empty for constants.
absl::StatusOr<std::string> NameOf(Json argument) {
  ASSIGN_OR_RETURN(const JsonUnion value, ReadUnion(argument));
  Json name;
  if (value.kind == "as_tensor") {
    RETURN_IF_ERROR(ReadFields(value.value, {{"name", &name}}));
  } else if (value.kind == "as_sym_int" || value.kind == "as_sym_float" ||
             value.kind == "as_sym_bool") {
    ASSIGN_OR_RETURN(const JsonUnion named, ReadUnion(value.value));
    if (named.kind == "as_name") name = named.value;
  }
  if (name.is_null()) return std::string();
  ASSIGN_OR_RETURN(const absl::string_view text, name.String());
  return std::string(text);
}

}  // namespace

absl::StatusOr<InputStructure> ReadInputStructure(const Sample& sample) {
  const auto program = sample.extra_files.find(std::string(kProgramFile));
  if (program == sample.extra_files.end())
    return absl::NotFoundError("not a program of torch.export");
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(program->second));
  Json graph_module, signature, calls, specs;
  RETURN_IF_ERROR(ReadFields(document.root(), {{"graph_module", &graph_module}}));
  RETURN_IF_ERROR(
      ReadFields(graph_module, {{"signature", &signature}, {"module_call_graph", &calls}}));
  RETURN_IF_ERROR(ReadFields(signature, {{"input_specs", &specs}}));
  InputStructure structure;
  for (const Json spec : specs.elements()) {
    ASSIGN_OR_RETURN(const JsonUnion kind, ReadUnion(spec));
    if (kind.kind == "constant_input") structure.inputs.emplace_back();
    if (kind.kind != "user_input") continue;
    Json argument;
    RETURN_IF_ERROR(ReadFields(kind.value, {{"arg", &argument}}));
    ASSIGN_OR_RETURN(structure.inputs.emplace_back(), NameOf(argument));
  }
  for (const Json call : calls.elements()) {
    Json path, call_signature, in_spec;
    RETURN_IF_ERROR(ReadFields(call, {{"fqn", &path}, {"signature", &call_signature, false}}));
    ASSIGN_OR_RETURN(const absl::string_view module, path.String());
    if (!module.empty() || call_signature.is_null()) continue;
    RETURN_IF_ERROR(ReadFields(call_signature, {{"in_spec", &in_spec}}));
    ASSIGN_OR_RETURN(const absl::string_view text, in_spec.String());
    ASSIGN_OR_RETURN(structure.spec, ParseTreeSpec(text));
    if (structure.spec.children.size() == 2 &&
        structure.spec.num_leaves() == structure.inputs.size())
      return structure;
  }
  return absl::InvalidArgumentError("the program does not say how it is called");
}

}  // namespace graphnet::pt2

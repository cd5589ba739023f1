#include "graphnet/formats/pt2/call_signature.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"

namespace graphnet::pt2 {

absl::StatusOr<std::optional<CallSignature>> ReadCallSignature(Json module_call_graph) {
  RETURN_IF_ERROR(module_call_graph.ExpectArray());
  if (module_call_graph.size() == 0)
    return absl::InvalidArgumentError("it lacks the call of the whole program");
  bool is_first = true;
  for (const Json call : module_call_graph.elements()) {
    Json path, signature, in_spec, out_spec, names, inputs, outputs;
    RETURN_IF_ERROR(ReadFields(call, {{"fqn", &path}, {"signature", &signature, false}}));
    ASSIGN_OR_RETURN(const absl::string_view module, path.String());
    if (std::exchange(is_first, false) && !module.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the first entry is for the module ", Printable(module), ", not for the whole program"));
    }
    if (!module.empty() || signature.is_null()) continue;
    RETURN_IF_ERROR(ReadFields(signature, {{"in_spec", &in_spec},
                                           {"out_spec", &out_spec},
                                           {"inputs", &inputs},
                                           {"outputs", &outputs},
                                           {"forward_arg_names", &names, false}}));
    RETURN_IF_ERROR(inputs.ExpectArray());
    RETURN_IF_ERROR(outputs.ExpectArray());
    ASSIGN_OR_RETURN(const absl::string_view in_text, in_spec.String());
    ASSIGN_OR_RETURN(const absl::string_view out_text, out_spec.String());
    CallSignature found;
    ASSIGN_OR_RETURN(found.in_spec, ParseTreeSpec(in_text));
    ASSIGN_OR_RETURN(found.out_spec, ParseTreeSpec(out_text));
    for (const Json name : names.elements()) {
      ASSIGN_OR_RETURN(const absl::string_view argument, name.String());
      found.argument_names.emplace_back(argument);
    }
    return found;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<UserInput>> ReadUserInputs(Json signature) {
  Json specs;
  RETURN_IF_ERROR(ReadFields(signature, {{"input_specs", &specs}}));
  std::vector<UserInput> inputs;
  for (const Json spec : specs.elements()) {
    ASSIGN_OR_RETURN(const JsonUnion kind, ReadUnion(spec));
    if (kind.kind != "user_input" && kind.kind != "constant_input") continue;
    UserInput& input = inputs.emplace_back();
    if (kind.kind == "constant_input") continue;
    Json argument, name;
    RETURN_IF_ERROR(ReadFields(kind.value, {{"arg", &argument}}));
    ASSIGN_OR_RETURN(const JsonUnion value, ReadUnion(argument));
    if (value.kind == "as_tensor") {
      input.is_tensor = true;
      RETURN_IF_ERROR(ReadFields(value.value, {{"name", &name}}));
    } else if (value.kind == "as_sym_int" || value.kind == "as_sym_float" ||
               value.kind == "as_sym_bool") {
      ASSIGN_OR_RETURN(const JsonUnion named, ReadUnion(value.value));
      if (named.kind == "as_name") name = named.value;
    }
    if (name.is_null()) continue;
    ASSIGN_OR_RETURN(const absl::string_view text, name.String());
    input.name = std::string(text);
  }
  return inputs;
}

}  // namespace graphnet::pt2

#include "graphnet/extract/program_inputs.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/example_value.h"
#include "graphnet/formats/torchscript/import_graph.h"
#include "graphnet/interp/inputs/elements.h"
#include "graphnet/interp/inputs/example_input.h"
#include "graphnet/interp/structured_input.h"
#include "graphnet/interp/torch/tensors.h"

namespace graphnet {

absl::StatusOr<std::vector<std::string>> NamesOfInputs(const torch::jit::Module& module,
                                                       const std::string& method) {
  ASSIGN_OR_RETURN(const torch::jit::GraphFunction* const function,
                   FindTorchScriptMethod(module, method, "capture"));
  const auto& formals = function->getSchema().arguments();
  std::vector<std::string> names;
  for (size_t i = 1; i < formals.size(); ++i) {
    const auto kind = formals[i].type()->kind();
    const bool holds_others =
        kind != c10::TypeKind::OptionalType && !formals[i].type()->containedTypes().empty();
    names.push_back(absl::StrCat(formals[i].name(), holds_others ? "." : ""));
    const bool takes_several = kind == c10::TypeKind::UnionType || kind == c10::TypeKind::AnyType;
    if (takes_several) names.push_back(absl::StrCat(formals[i].name(), holds_others ? "" : "."));
  }
  return names;
}

absl::StatusOr<std::vector<c10::IValue>> MakeProgramInputs(
    const torch::jit::Module& module, const std::string& method,
    const std::map<std::string, TensorData>& given, const std::vector<std::string>& words,
    uint64_t seed) {
  ASSIGN_OR_RETURN(const torch::jit::GraphFunction* const function,
                   FindTorchScriptMethod(module, method, "capture"));
  const auto& formals = function->getSchema().arguments();
  std::vector<absl::string_view> parameters;
  for (size_t i = 1; i < formals.size(); ++i) parameters.push_back(formals[i].name());
  std::map<absl::string_view, ExampleInput> named;
  std::vector<std::pair<absl::string_view, ExampleInput>> unnamed;
  for (const std::string& word : words) {
    ASSIGN_OR_RETURN(ExampleInput input, ParseExampleInput(word, parameters));
    if (input.name.empty()) {
      unnamed.emplace_back(word, std::move(input));
      continue;
    }
    const auto it = absl::c_find(parameters, input.name);
    if (it == parameters.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--input ", Printable(word), ": there is no parameter ",
                       Printable(input.name), NearMissHint(input.name, parameters)));
    }
    named[*it] = std::move(input);
  }
  const auto to_tensor = [](const std::string&, const TensorData& data) {
    return ToTensor(data, c10::Device(c10::kCPU));
  };
  std::vector<c10::IValue> inputs;
  size_t next = 0;
  for (size_t i = 1; i < formals.size(); ++i) {
    const std::string& name = formals[i].name();
    const auto word = named.find(name);
    if (given.contains(name) || !ElementsOf(given, name).empty()) {
      ASSIGN_OR_RETURN(inputs.emplace_back(),
                       MakeStructure(formals[i].type(), name, given, to_tensor));
    } else if (word != named.end() || next < unnamed.size()) {
      ASSIGN_OR_RETURN(c10::IValue value,
                       MakeExampleValue(word != named.end() ? word->second : unnamed[next++].second,
                                        name, seed, formals[i].type()));
      inputs.push_back(std::move(value));
    } else if (!formals[i].default_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no --input for parameter ", Printable(name), ": ",
                       Printable(formals[i].type()->annotation_str())));
    } else {
      inputs.push_back(*formals[i].default_value());
    }
  }
  if (next < unnamed.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--input ", Printable(unnamed[next].first), ": there are no more parameters"));
  }
  return inputs;
}

}  // namespace graphnet

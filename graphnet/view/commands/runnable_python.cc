#include "graphnet/view/commands/runnable_python.h"

#include <cstddef>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/save.h"
#include "graphnet/evaluate/input_values.h"
#include "graphnet/evaluate/python_form.h"
#include "graphnet/formats/core_formats.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/module.h"

namespace graphnet {

absl::Status WriteRunnablePython(Sample sample, const std::string& path) {
  for (const Node* input : sample.module->main()->placeholders()) {
    if (!IsStructure(input->annotation())) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "input ", Printable(input->target()),
        " is neither a tensor nor a number, and --runnable cannot store other values"));
  }
  size_t drawn = 0;
  for (const Attribute& attribute : sample.module->attributes())
    drawn += sample.weights.contains(std::string(attribute.name)) ? 0 : 1;
  ASSIGN_OR_RETURN(auto values, ReadInputs({}, DrawOptions(), &sample));
  if (HasOperatorsOfTorchScript(*sample.module)) {
    ASSIGN_OR_RETURN(sample, WithoutTorchScript(sample, values));
    ASSIGN_OR_RETURN(values, ReadInputs({}, DrawOptions(), &sample));
  }
  ASSIGN_OR_RETURN(const PythonForm form, FolderAsPython(sample));
  std::map<std::string, TensorData> tensors;
  for (const PythonArgument& argument : form.arguments) {
    auto value = values.extract(argument.source);
    if (!value.empty()) tensors.emplace(argument.name, std::move(value.mapped()));
  }
  if (drawn > 0)
    PrintNote(absl::StrCat(drawn, " weights are drawn, as their values are not there"));
  return SaveWithTensors(absl::StrCat(form.files.at("model.py"), RunnableTail()), path, tensors,
                         absl::StrCat(path, ".safetensors"));
}

}  // namespace graphnet

#include "graphnet/evaluate/python_form.h"

#include <cstddef>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/cost/flops.h"
#include "graphnet/formats/core_formats.h"
#include "graphnet/formats/export_program.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/formats/pt2/exporter.h"
#include "graphnet/formats/pt2/importer.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/module.h"
#include "graphnet/ops/callable.h"

namespace graphnet {
namespace {

// Returns what a folder takes, in order: first the placeholders of the module, then the attributes
// that it reads. The names are still to be found.
std::vector<PythonArgument> ArgumentsOf(const Module& module) {
  std::vector<PythonArgument> arguments;
  absl::flat_hash_set<absl::string_view> read;
  for (const Node* node : module.main()->nodes()) {
    if (node->is_placeholder()) {
      arguments.push_back(
          {.source = std::string(node->target()), .annotation = std::string(node->annotation())});
    }
    if (node->op() == Op::kGetAttr) read.insert(node->target());
  }
  for (const Attribute& attribute : module.attributes()) {
    if (!read.contains(attribute.name)) continue;
    arguments.push_back({.source = std::string(attribute.name),
                         .annotation = std::string(attribute.annotation),
                         .is_attribute = true});
  }
  return arguments;
}

bool IsOfTorchScriptAlone(const Node& node) {
  return node.is_call() && CalleeOf(node).kind == Callable::Kind::kForeign &&
         IsOfTorchScript(node.target());
}

}  // namespace

bool HasOperatorsOfTorchScript(const Module& module) {
  return absl::c_any_of(module.graphs(), [](const Graph* graph) {
    return absl::c_any_of(graph->nodes(),
                          [](const Node* node) { return IsOfTorchScriptAlone(*node); });
  });
}

absl::StatusOr<Sample> WithoutTorchScript(const Sample& sample,
                                          const std::map<std::string, TensorData>& values) {
  ASSIGN_OR_RETURN(const Pt2Archive archive, ExportPt2Program(sample));
  ASSIGN_OR_RETURN(Sample program, ImportPt2(archive.ToString(), sample.name, {.weights = true}));
  const std::vector<Node*> inputs = sample.module->main()->placeholders();
  const std::vector<Node*> taken = program.module->main()->placeholders();
  if (inputs.size() != taken.size())
    return absl::UnimplementedError("as a program of torch.export, it takes other inputs");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto value = values.find(std::string(inputs[i]->target()));
    if (value != values.end())
      program.weights.insert_or_assign(std::string(taken[i]->target()), value->second);
  }
  return program;
}

absl::StatusOr<PythonForm> FolderAsPython(const Sample& sample) {
  ASSIGN_OR_RETURN(const Sample folder, FolderFormOfSample(sample));
  PythonForm form;
  ASSIGN_OR_RETURN(form.files, GraphNetFiles(folder));
  form.arguments = ArgumentsOf(*sample.module);
  const std::vector<Node*> taken = folder.module->main()->placeholders();
  if (form.arguments.size() != taken.size())
    return absl::InternalError("a folder takes other arguments than the program");
  for (size_t i = 0; i < taken.size(); ++i)
    form.arguments[i].name = std::string(taken[i]->target());
  return form;
}

absl::StatusOr<PythonForm> PythonFormOf(Sample sample) {
  if (HasOperatorsOfTorchScript(*sample.module)) {
    ASSIGN_OR_RETURN(sample, WithoutTorchScript(sample, {}));
  }
  return FolderAsPython(sample);
}

}  // namespace graphnet

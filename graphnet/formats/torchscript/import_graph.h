// TorchScript to the IR, for those who hold a module or graph already.
// docs/torchscript.md says what becomes of what. Errors name the operation and
// the line it comes from.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_IMPORT_GRAPH_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_IMPORT_GRAPH_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"
#include "torch/csrc/jit/api/function_impl.h"
#include "torch/csrc/jit/api/module.h"
#include "torch/csrc/jit/ir/ir.h"

namespace graphnet {

struct ImportGraphOptions {
  // Fill Sample::weights with the real values of the attributes.
  bool weights = true;
  // They lie in the memory of the module's tensors, which nobody may write to from then on.
  bool share_weights = false;
  // Take branches that a constant decides, such as `if self.training:`, now.
  bool fold_branches = true;
};

// The module in an archive that has passed the check, unless `trust`. `inputs`, which may be null,
// becomes what the archive says of its inputs (importer.h), a word an input.
absl::StatusOr<torch::jit::Module> LoadTorchScriptModule(
    const std::string& path, bool trust = false, std::vector<std::string>* inputs = nullptr);

// The method, if it is written in TorchScript and no hooks run around it. Errors say what
// cannot be done: "represent".
absl::StatusOr<torch::jit::GraphFunction*> FindTorchScriptMethod(const torch::jit::Module& module,
                                                                 const std::string& method,
                                                                 absl::string_view verb);

// The method with all that it calls inlined. Its graph is named after it;
// bodies of branches and loops are named after the graph they are in.
absl::StatusOr<Sample> ImportTorchScriptMethod(const torch::jit::Module& module,
                                               const std::string& method,
                                               const ImportGraphOptions& options = {});

// A graph under the name `name`. `self` is the module that its first input
// stands for, or null if all inputs are inputs.
absl::StatusOr<Sample> ImportTorchScriptGraph(torch::jit::Graph& graph, const std::string& name,
                                              const torch::jit::Module* self = nullptr,
                                              const ImportGraphOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_IMPORT_GRAPH_H_

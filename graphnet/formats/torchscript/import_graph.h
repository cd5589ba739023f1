// Translates TorchScript modules and graphs in memory to the IR.
// docs/torchscript.md lists the translation of each operation. Errors name the
// operation and its source line.
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

// Options of the functions below.
struct ImportGraphOptions {
  // Fills Sample::weights with the real values of the attributes.
  bool weights = true;
  // Weights share the memory of the module's tensors, which must not be written to afterwards.
  bool share_weights = false;
  // Keeps only the taken branch if a constant decides it, as in `if self.training:`.
  bool fold_branches = true;
  // Receives the names of the parameters that the program does not read, sorted; may be null.
  std::vector<std::string>* unread_parameters = nullptr;
};

// Loads the module in an archive. Checks the archive first (archive_check.h), unless `trust` is
// true. If `inputs` is not null, it receives the archive's descriptions of its inputs (importer.h),
// one per input.
absl::StatusOr<torch::jit::Module> LoadTorchScriptModule(
    const std::string& path, bool trust = false, std::vector<std::string>* inputs = nullptr);

// Returns the method; the module owns it. Returns NotFound if there is none, and InvalidArgument
// if it is not written in TorchScript or hooks run around it. `verb` says in the error what cannot
// be done with hooks, such as "represent".
absl::StatusOr<torch::jit::GraphFunction*> FindTorchScriptMethod(const torch::jit::Module& module,
                                                                 const std::string& method,
                                                                 absl::string_view verb);

// Imports a method, with everything that it calls inlined. Its graph is named after it;
// bodies of branches and loops are named after the graph they are in.
absl::StatusOr<Sample> ImportTorchScriptMethod(const torch::jit::Module& module,
                                               const std::string& method,
                                               const ImportGraphOptions& options = {});

// Imports a graph under the name `name`. `self` is the module that its first input
// stands for; null if the graph has no such input.
absl::StatusOr<Sample> ImportTorchScriptGraph(torch::jit::Graph& graph, const std::string& name,
                                              const torch::jit::Module* self = nullptr,
                                              const ImportGraphOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_IMPORT_GRAPH_H_

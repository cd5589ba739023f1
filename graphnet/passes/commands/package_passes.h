// Passes of Python packages, which they name as entry points of the group graphnet.passes
// (python/graphnet_ir/package_passes.py). Only processes of Python run them.
#ifndef GRAPHNET_PASSES_COMMANDS_PACKAGE_PASSES_H_
#define GRAPHNET_PASSES_COMMANDS_PACKAGE_PASSES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/passes/pipeline.h"

namespace graphnet {

// Like ParsePipeline, but a pipeline may name passes of packages, too. Python is started only if it has
// a name that is no pass here.
absl::StatusOr<Pipeline> ParseWithPackages(absl::string_view text);

// Asks Python for the passes of packages, and registers those that are no passes here. InvalidArgument if
// two packages have a pass of one name; another error if this Python has no package graphnet_ir.
absl::Status RegisterPackagePasses();
// Returns whether this program belongs to an installed package graphnet_ir, or $GRAPHNET_PYTHON is set.
bool IsPartOfPackage();

// Returns whether a pass was registered so.
bool IsPackagePass(absl::string_view name);
// Returns whether a step is a pass of a package.
bool HasPackagePass(const Pipeline& pipeline);

// A process that runs such a pipeline for OptWorkers: its command, and what its environment has beside
// that of this process.
struct PackageProcess {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;
};
// `arguments` are those of python/graphnet_ir/pass_worker.py.
PackageProcess PackagePassProcess(const std::vector<std::string>& arguments);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_COMMANDS_PACKAGE_PASSES_H_

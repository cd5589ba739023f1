#include "graphnet/passes/commands/package_passes.h"

#include <cstdlib>
#include <deque>
#include <memory>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "graphnet/base/json.h"
#include "graphnet/base/package_python.h"
#include "graphnet/base/status.h"
#include "graphnet/evaluate/scratch_folder.h"
#include "graphnet/evaluate/worker_process.h"
#include "graphnet/passes/pass.h"
#include "graphnet/passes/registry.h"

namespace graphnet {
namespace {

constexpr absl::Duration kTimeToList = absl::Seconds(60);

// The names of the registered ones, which live as long as the program.
std::deque<std::string>& Names() {
  static auto* const names = new std::deque<std::string>;
  return *names;
}

absl::StatusOr<bool> RefuseHere(Module*, PassRun&) {
  return absl::FailedPreconditionError(
      "a pass of a Python package takes files, not the standard input or output");
}

}  // namespace

absl::Status RegisterPackagePasses() {
  ASSIGN_OR_RETURN(const std::unique_ptr<ScratchFolder> folder, ScratchFolder::Make());
  const PackageProcess how = PackagePassProcess({});
  ASSIGN_OR_RETURN(
      const std::unique_ptr<WorkerProcess> process,
      WorkerProcess::Start(
          {.command = how.command, .environment = how.environment, .folder = folder->path()}));
  ASSIGN_OR_RETURN(const std::string line, process->Ask("{}", kTimeToList));
  const Json answer = Json::Parse(line);
  if (const auto error = answer.Get<std::string>("error"))
    return absl::InvalidArgumentError(Printable(*error, 1000));
  const auto names = answer.Get<std::vector<std::string>>("passes");
  if (!names.has_value()) return absl::DataLossError("");
  for (const std::string& name : *names) {
    if (FindPass(name) == nullptr) RegisteredPass(Names().emplace_back(name), "", RefuseHere);
  }
  return absl::OkStatus();
}

absl::StatusOr<Pipeline> ParseWithPackages(absl::string_view text) {
  absl::StatusOr<Pipeline> pipeline = ParsePipeline(text);
  if (pipeline.ok()) return pipeline;
  absl::Status registered = RegisterPackagePasses();
  // Two packages may have a pass of one name. Otherwise there are no packages to speak of.
  if (absl::IsInvalidArgument(registered)) return registered;
  return registered.ok() ? ParsePipeline(text) : pipeline;
}

bool IsPackagePass(absl::string_view name) { return absl::c_linear_search(Names(), name); }

bool HasPackagePass(const Pipeline& pipeline) {
  return absl::c_any_of(pipeline,
                        [](const PipelineStep& step) { return IsPackagePass(step.pass->name()); });
}

bool IsPartOfPackage() {
  return std::getenv("GRAPHNET_PYTHON") != nullptr || !FindPackagePython().package_folder.empty();
}

PackageProcess PackagePassProcess(const std::vector<std::string>& arguments) {
  const PackagePython python = FindPackagePython();
  PackageProcess process;
  // Without -P, modules in the current folder would come first.
  process.command = {python.program, "-P", "-m", "graphnet_ir.pass_worker"};
  process.command.insert(process.command.end(), arguments.begin(), arguments.end());
  const char* const path = std::getenv("PYTHONPATH");
  if (!python.package_folder.empty())
    process.environment = {{"PYTHONPATH", python.SearchPath(path == nullptr ? "" : path)}};
  return process;
}

}  // namespace graphnet

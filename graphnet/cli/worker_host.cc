#include "graphnet/cli/worker_host.h"

#include <filesystem>

#include "graphnet/cli/engine.h"
#include "graphnet/cli/libtorch_location.h"
#include "graphnet/cli/own_operators.h"

namespace graphnet {

WorkerHost HostOfTool() {
  WorkerHost host;
  host.tool = std::filesystem::read_symlink("/proc/self/exe").string();
  host.tool_options = OperatorOptions();
  if (const auto torch = FindLibTorch(); torch.ok()) {
    host.torch = *torch;
  } else if (OpenEngine().ok()) {  // as Bazel builds it, it has the one that it was built with
    host.torch = LoadedLibTorch();
  }
  return host;
}

}  // namespace graphnet

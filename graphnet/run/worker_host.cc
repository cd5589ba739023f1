#include "graphnet/run/worker_host.h"

#include <filesystem>

#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/run/engine.h"
#include "graphnet/run/libtorch_location.h"
#include "graphnet/run/own_operators.h"

namespace graphnet {

WorkerHost HostOfTool() {
  WorkerHost host;
  host.tool = std::filesystem::read_symlink("/proc/self/exe").string();
  host.tool_options = OperatorOptions();
  if (const auto torch = FindLibTorch(); torch.ok()) {
    host.torch = *torch;
  } else if (OpenEngine().ok()) {  // a program that Bazel built has its own LibTorch
    host.torch = LoadedLibTorch();
  }
  return host;
}

SampleObserver ObserverOfTool() {
  SampleObserver observe;
  observe.infer = [](const Sample& sample, ObservedValues* found) -> absl::Status {
    ASSIGN_OR_RETURN(const Engine* const engine, OpenEngine());
    return engine->InferValues(sample, /*name_sizes=*/false, found);
  };
  observe.measure = [](const Sample& sample, uint64_t seed, ObservedValues* found) -> absl::Status {
    ASSIGN_OR_RETURN(const Engine* const engine, OpenEngine());
    const DrawOptions draw = {.seed = seed, .max_bytes = AvailableMemoryBytes() / 2};
    return engine->MeasureValues(sample, draw, found);
  };
  return observe;
}

}  // namespace graphnet

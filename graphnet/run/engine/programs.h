// Makes the programs that engine.h returns.
#ifndef GRAPHNET_RUN_ENGINE_PROGRAMS_H_
#define GRAPHNET_RUN_ENGINE_PROGRAMS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/status/statusor.h"
#include "graphnet/run/engine.h"
#include "torch/csrc/jit/api/module.h"

namespace graphnet {

// These three do the work of the functions of Engine with these names.
absl::StatusOr<std::unique_ptr<ReadyProgram>> PrepareGraph(const Module& module,
                                                           TensorValues values,
                                                           const RunSettings& settings);
absl::StatusOr<std::unique_ptr<ReadyProgram>> PrepareExtracted(
    ExtractedProgram program, const TensorValues& given, const DrawOptions& draw, bool trust,
    std::function<void(const std::string&)> print);
absl::StatusOr<std::unique_ptr<TorchScriptProgram>> OpenTorchScript(const std::string& path,
                                                                    bool trust);
// Returns deep copies, which a run may write to.
std::vector<c10::IValue> Copies(const std::vector<c10::IValue>& values);

// Each call gets copies of `inputs`. `reference` is another copy of the program, which LibTorch
// runs.
absl::StatusOr<std::unique_ptr<CachedProgram>> CacheProgram(
    torch::jit::Module module, torch::jit::Module reference, std::vector<c10::IValue> inputs,
    uint64_t seed, const CaptureOptions& options, const RunBackend& backend);

absl::StatusOr<int> ServeWorker(const std::string& backend);

}  // namespace graphnet

#endif  // GRAPHNET_RUN_ENGINE_PROGRAMS_H_

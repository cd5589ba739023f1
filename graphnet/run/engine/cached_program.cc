// Programs that are called through their captures, and the backends of their subgraphs.
#include <chrono>
#include <sstream>
#include <utility>
#include <vector>

#include "ATen/Context.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/cache.h"
#include "graphnet/extract/reference.h"
#include "graphnet/formats/export_program.h"
#include "graphnet/formats/libtorch.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/passes/pipeline.h"
#include "graphnet/run/engine/programs.h"
#include "graphnet/run/engine/worker_program.h"
#include "torch/csrc/jit/serialization/import.h"

namespace graphnet {
namespace {

// A subgraph that runs as TorchScript in LibTorch.
class JitExecutable final : public Executable {
 public:
  explicit JitExecutable(torch::jit::Module module) : module_(std::move(module)) {}

  // NOLINTNEXTLINE(google-default-arguments): as the base class has it.
  absl::StatusOr<std::vector<c10::IValue>> Run(std::vector<c10::IValue> inputs,
                                               const RunOptions& = {}) override {
    return Guarded([&]() -> absl::StatusOr<std::vector<c10::IValue>> {
      return FlattenResult(module_.forward(std::move(inputs)));
    });
  }
  size_t num_instructions() const override { return 1; }

 private:
  torch::jit::Module module_;
};

absl::StatusOr<std::shared_ptr<Executable>> CompileByJit(const Sample& sample) {
  Sample copy = CopyOf(sample);
  ASSIGN_OR_RETURN(const Pipeline pipeline,
                   ParsePipeline(absl::StrCat(kPassesBeforeCompilers, ",functionalize")));
  RETURN_IF_ERROR(RunPipeline(pipeline, &copy).status());
  ASSIGN_OR_RETURN(const std::string archive, ExportTorchScriptProgram(copy));
  return Guarded([&]() -> absl::StatusOr<std::shared_ptr<Executable>> {
    std::istringstream stream(archive);
    return std::make_shared<JitExecutable>(OptimizedForInference(torch::jit::load(stream)));
  });
}

// A subgraph that a function on tensor values computes.
class FunctionExecutable final : public Executable {
 public:
  FunctionExecutable(std::vector<std::string> names, SubgraphFunction function)
      : names_(std::move(names)), function_(std::move(function)) {}

  // NOLINTNEXTLINE(google-default-arguments): as the base class has it.
  absl::StatusOr<std::vector<c10::IValue>> Run(std::vector<c10::IValue> inputs,
                                               const RunOptions& = {}) override {
    TensorValues values;
    for (size_t i = 0; i < names_.size(); ++i) {
      ASSIGN_OR_RETURN(values[names_[i]], ToTensorData(inputs.at(i).toTensor()));
    }
    ASSIGN_OR_RETURN(const std::vector<TensorData> yielded, function_(values));
    std::vector<c10::IValue> outputs;
    for (const TensorData& value : yielded) {
      ASSIGN_OR_RETURN(outputs.emplace_back(), ToTensor(value, c10::Device(c10::kCPU)));
    }
    return outputs;
  }
  size_t num_instructions() const override { return 1; }

 private:
  const std::vector<std::string> names_;
  const SubgraphFunction function_;
};

SubgraphCompiler CompilerOf(const RunBackend& backend) {
  if (backend.name == "nope") return nullptr;
  if (backend.name == "jit") return CompileByJit;
  return [compile = backend.compile](
             const Sample& sample) -> absl::StatusOr<std::shared_ptr<Executable>> {
    std::vector<std::string> names;
    for (const Node* node : sample.module->main()->placeholders()) {
      if (node->tensor_meta() == nullptr) {
        return absl::UnimplementedError(
            absl::StrCat("it takes the number %", Printable(node->name())));
      }
      names.emplace_back(node->target());
    }
    ASSIGN_OR_RETURN(SubgraphFunction function, compile(sample));
    return std::make_shared<FunctionExecutable>(std::move(names), std::move(function));
  };
}

class Program final : public CachedProgram {
 public:
  Program(torch::jit::Module module, torch::jit::Module reference, std::vector<c10::IValue> inputs,
          uint64_t seed, const CaptureOptions& options, const RunBackend& backend)
      : reference_(std::move(reference)),
        inputs_(std::move(inputs)),
        seed_(seed),
        options_(options),
        cache_(std::move(module), options, {.compile = CompilerOf(backend)}) {}

  absl::StatusOr<CallReport> Call() override {
    const CaptureCache::Counters before = cache_.counters();
    const std::vector<c10::IValue> inputs = Copies(inputs_);
    at::manual_seed(seed_);
    const auto begin = std::chrono::steady_clock::now();
    ASSIGN_OR_RETURN(const c10::IValue result, cache_.Call(inputs));
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    outputs_ = FlattenResult(result);
    const CaptureCache::Counters& after = cache_.counters();
    CallReport report;
    report.is_hit = after.hits > before.hits;
    report.guard_failures = after.guard_failures - before.guard_failures;
    report.compilations = after.compilations - before.compilations;
    report.compile_ms = after.compile_ms - before.compile_ms;
    report.run_ms = time.count() - report.compile_ms;
    return report;
  }

  absl::StatusOr<TensorValues> Outputs() const override { return NameOutputs(outputs_); }

  absl::StatusOr<TensorValues> CallByLibTorch() override {
    at::manual_seed(seed_);
    ASSIGN_OR_RETURN(const c10::IValue result,
                     RunByLibTorch(reference_, Copies(inputs_), options_));
    return NameOutputs(FlattenResult(result));
  }

  std::vector<Capture> captures() const override {
    std::vector<Capture> captures;
    for (size_t i = 0; i < cache_.num_entries(); ++i) {
      const StitchManifest& manifest = cache_.entry(i).manifest;
      Capture& capture = captures.emplace_back();
      capture.subgraphs = manifest.subgraphs.size();
      capture.operations = manifest.steps.size() - manifest.subgraphs.size();
      for (const CaptureCache::Interpreted& part : cache_.interpreted(i))
        capture.interpreted.emplace_back(part.subgraph, part.why);
    }
    return captures;
  }

 private:
  const torch::jit::Module reference_;
  const std::vector<c10::IValue> inputs_;
  const uint64_t seed_;
  const CaptureOptions options_;
  CaptureCache cache_;
  std::vector<c10::IValue> outputs_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CachedProgram>> CacheProgram(
    torch::jit::Module module, torch::jit::Module reference, std::vector<c10::IValue> inputs,
    uint64_t seed, const CaptureOptions& options, const RunBackend& backend) {
  return std::make_unique<Program>(std::move(module), std::move(reference), std::move(inputs), seed,
                                   options, backend);
}

}  // namespace graphnet

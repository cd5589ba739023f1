// Compiles samples with a backend and runs them on values.
//
//   const Backend* openvino = FindBackend("openvino");
//   ASSIGN_OR_RETURN(auto compiler, SampleCompiler::Start(openvino, host, {}));
//   ASSIGN_OR_RETURN(auto compiled, compiler->Compile(sample));
//   ASSIGN_OR_RETURN(Outputs outputs, compiled->Run({{"x", x}}, /*seed=*/0));
#ifndef GRAPHNET_EVALUATE_COMPILED_SAMPLE_H_
#define GRAPHNET_EVALUATE_COMPILED_SAMPLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graphnet/evaluate/backend_process.h"
#include "graphnet/evaluate/compare_outputs.h"
#include "graphnet/evaluate/compile_cache.h"
#include "graphnet/evaluate/scratch_folder.h"
#include "graphnet/evaluate/worker.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

class CompiledSample;

// A worker of a backend, which holds many programs. Neither it nor its programs are thread-safe.
class SampleCompiler : public std::enable_shared_from_this<SampleCompiler> {
 public:
  // Starts the worker. `cache` keeps compiled programs; it may be null and must outlive this.
  // FailedPrecondition if the backend is not installed or its worker holds only one program.
  static absl::StatusOr<std::shared_ptr<SampleCompiler>> Start(const Backend* backend,
                                                               const WorkerHost& host,
                                                               const WorkerLimits& limits,
                                                               CompileCache* cache = nullptr);

  // Compiles the graph for inputs of the sizes that it states, with Sample::weights as the values
  // of its attributes. The error says why the backend cannot compile it.
  absl::StatusOr<std::unique_ptr<CompiledSample>> Compile(const Sample& sample);

  // Returns the number of kernels that the backend makes of the graph, for inputs of the sizes that it
  // states. Errors are those of worker.h: FailedPrecondition if the backend cannot compile it or
  // counts no kernels.
  absl::StatusOr<int64_t> CountKernels(const Sample& sample);

  // Returns the number of programs that were loaded from the cache.
  int64_t num_cached() const { return num_cached_; }

 private:
  friend class CompiledSample;
  SampleCompiler(std::unique_ptr<ScratchFolder> folder, const Backend* backend,
                 const WorkerHost& host, const WorkerLimits& limits, CompileCache* cache);
  // Returns everything that the compiled program depends on.
  absl::StatusOr<CompileKey> KeyOf(const Sample& sample, const PrepareRequest& request) const;
  absl::Status Prepare(const Sample& sample, PrepareRequest request);
  // Writes the sample as its backend reads it, calls `use` with the request for it, and removes the
  // files.
  absl::Status WithRequest(const Sample& sample,
                           absl::FunctionRef<absl::Status(PrepareRequest)> use);

  std::unique_ptr<ScratchFolder> folder_;
  BackendProcess process_;  // ends before its folder is deleted
  int last_slot_ = 0;
  int num_requests_ = 0;
  CompileCache* cache_;
  CompileKey key_;  // the part that all programs have in common, if there is a cache
  int64_t num_cached_ = 0;
};

// A compiled program in the worker of its SampleCompiler, which it keeps alive.
class CompiledSample {
 public:
  // Tells the worker to drop the program.
  ~CompiledSample();

  // Takes the values of the placeholders by name. Returns the graph's outputs in order, followed by
  // the inputs that it writes to. Errors are those of worker.h. If one ends the worker, all its
  // programs are lost.
  absl::StatusOr<Outputs> Run(const std::map<std::string, TensorData>& inputs, uint64_t seed);

 private:
  friend class SampleCompiler;
  CompiledSample(std::shared_ptr<SampleCompiler> compiler, int slot)
      : compiler_(std::move(compiler)), slot_(slot) {}

  std::shared_ptr<SampleCompiler> compiler_;
  const int slot_;
};

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_COMPILED_SAMPLE_H_

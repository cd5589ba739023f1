// Samples that a backend has compiled, to be run on values.
//
//   ASSIGN_OR_RETURN(const Backend* openvino, BackendOfName("openvino"));
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

#include "absl/status/statusor.h"
#include "graphnet/evaluate/backend_process.h"
#include "graphnet/evaluate/compare_outputs.h"
#include "graphnet/evaluate/compile_cache.h"
#include "graphnet/evaluate/scratch_folder.h"
#include "graphnet/evaluate/worker.h"
#include "graphnet/evaluate/worker_library.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

class CompiledSample;

// The process in which the compiler runs.
enum class CompilerPlace {
  kWorker,   // in a process of its own
  kProcess,  // in this one, for backends that are libraries (worker_library.h)
};

// A worker of a backend, which holds many programs. Not thread-safe, nor are its programs.
class SampleCompiler : public std::enable_shared_from_this<SampleCompiler> {
 public:
  // Starts the worker. `cache`, which may be null, keeps what is compiled and must outlive this.
  // InvalidArgument if `place` is this process and the backend is no library.
  static absl::StatusOr<std::shared_ptr<SampleCompiler>> Start(
      const Backend* backend, const WorkerHost& host, const WorkerLimits& limits,
      CompileCache* cache = nullptr, CompilerPlace place = CompilerPlace::kWorker);

  // Compiles the graph for inputs of the sizes that it says, with Sample::weights as the values of
  // its attributes. Errors say why the backend cannot.
  absl::StatusOr<std::unique_ptr<CompiledSample>> Compile(const Sample& sample);

  // Returns how many programs the cache had.
  int64_t num_cached() const { return num_cached_; }

 private:
  friend class CompiledSample;
  SampleCompiler(std::unique_ptr<ScratchFolder> folder, const Backend* backend,
                 const WorkerHost& host, const WorkerLimits& limits, CompileCache* cache);
  // Returns all that the compiled program depends on.
  absl::StatusOr<CompileKey> KeyOf(const Sample& sample, const PrepareRequest& request) const;
  absl::Status Prepare(const Sample& sample, PrepareRequest request);
  // One that lives.
  absl::StatusOr<Worker*> worker();
  bool is_running() const { return library_ != nullptr || process_.is_running(); }

  std::unique_ptr<ScratchFolder> folder_;
  BackendProcess process_;  // ends before its folder goes; not started if there is a library
  std::shared_ptr<WorkerLibrary> library_;  // null: the process
  std::unique_ptr<Worker> worker_in_library_;
  CompileCache* cache_;
  CompileKey key_;  // the part that all programs have in common, if there is a cache
  int64_t num_cached_ = 0;
};

class CompiledSample {
 public:
  // Lets the worker forget the program.
  ~CompiledSample();

  // Takes the values of the placeholders by name. Yields what the graph returns, in order, and
  // behind that the inputs that it writes to. Errors are those of worker.h; after one with which
  // the worker has ended, all its programs are gone.
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

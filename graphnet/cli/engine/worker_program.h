// What a worker of the tool runs: a program, made ready for one set of values at a time.
#ifndef GRAPHNET_CLI_ENGINE_WORKER_PROGRAM_H_
#define GRAPHNET_CLI_ENGINE_WORKER_PROGRAM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"
#include "torch/csrc/jit/api/module.h"

namespace graphnet {

struct WorkerProgramRequest {
  std::string program;
  std::vector<std::string> order;
  std::vector<std::string> written;
  std::string device;
};

class WorkerProgram {
 public:
  virtual ~WorkerProgram() = default;
  // What runs are on from now on: inputs and what lies beside the program, by name.
  virtual absl::Status Load(std::map<std::string, TensorData> values) = 0;
  // Makes what an earlier run has written to what it was: not timed.
  virtual absl::Status Restore() = 0;
  virtual absl::StatusOr<std::vector<c10::IValue>> Run(uint64_t seed) = 0;
  // The tensors that live on between runs, which outputs may share memory with.
  virtual std::vector<at::Tensor> Kept() const = 0;
  // What shows that it ran.
  virtual std::string Proof() const = 0;
};

// Errors of preparing are those of compiling.
absl::StatusOr<std::unique_ptr<WorkerProgram>> PrepareNope(const WorkerProgramRequest& request);
absl::StatusOr<std::unique_ptr<WorkerProgram>> PrepareJit(const WorkerProgramRequest& request);

// Freezes and optimises a module, as backend jit does. May throw c10::Error.
torch::jit::Module OptimizedForInference(torch::jit::Module module);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_ENGINE_WORKER_PROGRAM_H_

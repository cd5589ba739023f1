// The programs that a worker of the tool runs, each on one set of values at a time.
#ifndef GRAPHNET_RUN_ENGINE_WORKER_PROGRAM_H_
#define GRAPHNET_RUN_ENGINE_WORKER_PROGRAM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/interp/executable.h"
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
  // Sets the values of the next runs by name: inputs, and weights that lie beside the program.
  virtual absl::Status Load(std::map<std::string, TensorData> values) = 0;
  // Restores the values that an earlier run has written to. This is not timed.
  virtual absl::Status Restore() = 0;
  // Backend jit takes the seed alone.
  virtual absl::StatusOr<std::vector<c10::IValue>> Run(const RunOptions& options) = 0;
  // Returns the tensors that are kept between runs. Outputs may share memory with them.
  virtual std::vector<at::Tensor> Kept() const = 0;
  // Returns a text that proves that the program ran.
  virtual std::string Proof() const = 0;
};

// Make a program ready for backend nope or jit. Errors count as errors of compiling.
absl::StatusOr<std::unique_ptr<WorkerProgram>> PrepareNope(const WorkerProgramRequest& request);
absl::StatusOr<std::unique_ptr<WorkerProgram>> PrepareJit(const WorkerProgramRequest& request);

// Freezes and optimises a module, as backend jit does. May throw c10::Error.
torch::jit::Module OptimizedForInference(torch::jit::Module module);

}  // namespace graphnet

#endif  // GRAPHNET_RUN_ENGINE_WORKER_PROGRAM_H_

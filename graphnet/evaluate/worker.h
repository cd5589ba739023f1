// A compiler in a process of its own: the requests to it and its answers (docs/evaluation_reference.md has
// the contract). Errors are one line each:
//  - FailedPrecondition: the worker says that the program does not compile;
//  - Unavailable: it says that the program does not run, or that the inputs cannot be used;
//  - any other: it gave no answer (worker_process.h) or not a valid one (DataLoss), and was ended.
#ifndef GRAPHNET_EVALUATE_WORKER_H_
#define GRAPHNET_EVALUATE_WORKER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "graphnet/evaluate/sample_result.h"
#include "graphnet/evaluate/worker_process.h"

namespace graphnet {

// The answer of a worker to "hello".
struct WorkerGreeting {
  std::string name;
  std::string version;
  std::vector<std::string> devices;
  std::string hardware;  // of a worker on another machine; empty: this machine
  // True if it keeps programs apart by PrepareRequest::slot. Workers of older versions hold only
  // one.
  bool has_slots = false;
};

// A request to compile a program.
struct PrepareRequest {
  std::string program;             // an absolute path, as are all paths here
  std::string weights;             // safetensors; empty if there are none beside the program
  std::string inputs;              // safetensors
  std::vector<std::string> order;  // names of the inputs in order
  // Names of the weights that the program takes as arguments after the inputs, in order.
  std::vector<std::string> constants;
  // Names of the inputs and attributes that the program writes to. A worker that reads the sample
  // itself returns their values after the outputs, as the programs for other workers do.
  std::vector<std::string> written;
  std::string device = "cpu";
  uint64_t seed = 0;
  // Options of the backend, by name.
  std::vector<std::pair<std::string, std::string>> options;
  // The slot that the program occupies from now on, in place of the one before.
  int slot = 0;
  // Files in the worker's own format; empty if there is none. The worker may write what it compiled
  // to `keep`. It loads `kept`, which it wrote earlier for the same program, instead of compiling.
  std::string keep = {};
  std::string kept = {};
};

// A request to write a program as ONNX, which only the worker of backend onnxruntime takes.
struct ExportRequest {
  std::string program;  // .pt2
  std::string out;      // the ONNX file to write
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

// The milliseconds of each trial by the clock that measured them: "e2e", the wall clock, comes first;
// "gpu", the clock of a device, and "kernel", what its kernels took, follow where the worker has them.
using WorkerTimes = std::vector<std::pair<std::string, std::vector<double>>>;

// The client of a worker. Not thread-safe.
class Worker {
 public:
  // Starts the process and sends it "hello". `limit` is the time limit of each request.
  static absl::StatusOr<std::unique_ptr<Worker>> Start(const ProcessOptions& options,
                                                       absl::Duration limit);

  // Starts a script of Python in `folder`, with the path of the interpreter. It may take half of the
  // memory that is free, and write 1 GiB.
  static absl::StatusOr<std::unique_ptr<Worker>> StartScript(const std::string& python,
                                                             const std::string& script,
                                                             const std::string& folder,
                                                             absl::Duration limit);

  const WorkerGreeting& greeting() const { return greeting_; }
  bool is_alive() const { return process_->is_alive(); }

  // Compiles a program.
  absl::Status Prepare(const PrepareRequest& request);
  // Runs the program on a file of inputs and writes its outputs. Returns the worker's proof that
  // the compiler ran the program: one line, which may be empty.
  absl::StatusOr<std::string> Run(const std::string& inputs, const std::string& outputs,
                                  uint64_t seed, int slot = 0);
  // Times the program. Returns the times of all trials, without the warm-up, by each clock.
  absl::StatusOr<WorkerTimes> Time(const std::string& inputs, const std::string& outputs,
                                   int warmup, int trials, uint64_t seed);
  // Says whether rounding explains `outputs` of something else for the inputs, of which the program is
  // expected to return `expected`. `exact` are the outputs in float64; empty if they are not known.
  // Only the tool's own interpreter answers this.
  absl::StatusOr<SampleRounding> Judge(const std::string& inputs, const std::string& outputs,
                                       const std::string& expected, const std::string& exact,
                                       uint64_t seed);
  // Writes the program as ONNX instead of compiling it.
  absl::Status Export(const ExportRequest& request);
  // Compiles the program of a request and returns the number of its kernels. The program is not
  // kept. FailedPrecondition if the worker counts none.
  absl::StatusOr<int64_t> CountKernels(const PrepareRequest& request);
  // Tells the worker to drop the program of a slot.
  absl::Status Close(int slot = 0);

 private:
  Worker(std::unique_ptr<WorkerProcess> process, absl::Duration limit)
      : process_(std::move(process)), limit_(limit) {}
  absl::Status Greet();

  std::unique_ptr<WorkerProcess> process_;
  absl::Duration limit_;
  WorkerGreeting greeting_;
};

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_WORKER_H_

// A compiler behind a process of its own: what is asked of it and how it may answer
// (docs/evaluation.md has the contract). Whatever it does instead is an error of one line:
//  - FailedPrecondition: it says that the program does not compile;
//  - Unavailable: that it does not run, or that the inputs cannot be used;
//  - any other: it did not answer (worker_process.h), or with what is no answer (DataLoss), and is
//    gone.
#ifndef GRAPHNET_EVALUATE_WORKER_H_
#define GRAPHNET_EVALUATE_WORKER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "graphnet/evaluate/worker_process.h"

namespace graphnet {

struct WorkerGreeting {
  std::string name;
  std::string version;
  std::vector<std::string> devices;
  // Whether it keeps programs apart by PrepareRequest::slot. Workers of older versions have one.
  bool has_slots = false;
};

struct PrepareRequest {
  std::string program;             // a path from the root, as all here
  std::string weights;             // safetensors; empty: there are none beside it
  std::string inputs;              // safetensors
  std::vector<std::string> order;  // of the inputs, by name
  // Those of the weights that a form has as arguments behind the inputs, in their order.
  std::vector<std::string> constants;
  // Inputs and attributes that the program writes to, whose values a worker that reads the sample
  // itself returns behind the outputs, as others' programs do.
  std::vector<std::string> written;
  std::string device = "cpu";
  uint64_t seed = 0;
  // Which of the worker's programs this is from now on. Each slot has one.
  int slot = 0;
  // Files of the worker's own format: where it may write what it compiled, and what it wrote
  // earlier for the same program, which it loads instead of compiling. Empty: none.
  std::string keep = {};
  std::string kept = {};
};

// Only of backend onnxruntime.
struct ExportRequest {
  std::string program;  // .pt2
  std::string out;      // the ONNX file to write
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

class Worker {
 public:
  // Every request may take `limit`. The first is hello.
  static absl::StatusOr<std::unique_ptr<Worker>> Start(const ProcessOptions& options,
                                                       absl::Duration limit);

  // As Start, for a worker that is there already.
  static absl::StatusOr<std::unique_ptr<Worker>> Over(std::shared_ptr<WorkerChannel> channel,
                                                      absl::Duration limit);

  const WorkerGreeting& greeting() const { return greeting_; }
  bool is_alive() const { return process_->is_alive(); }

  absl::Status Prepare(const PrepareRequest& request);
  // Yields what shows that the compiler ran the program, a line, which may be empty.
  absl::StatusOr<std::string> Run(const std::string& inputs, const std::string& outputs,
                                  uint64_t seed, int slot = 0);
  // Milliseconds of each trial.
  absl::StatusOr<std::vector<double>> Time(const std::string& inputs, const std::string& outputs,
                                           int warmup, int trials, uint64_t seed);
  // Writes the program in the compiler's own format instead of compiling it.
  absl::Status Export(const ExportRequest& request);
  absl::Status Close(int slot = 0);

 private:
  Worker(std::shared_ptr<WorkerChannel> process, absl::Duration limit)
      : process_(std::move(process)), limit_(limit) {}
  absl::Status Greet();

  std::shared_ptr<WorkerChannel> process_;
  absl::Duration limit_;
  WorkerGreeting greeting_;
};

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_WORKER_H_

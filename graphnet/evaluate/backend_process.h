// One side of a comparison: a backend, and the worker that runs it, which is started when it is
// first needed and anew after it has died.
#ifndef GRAPHNET_EVALUATE_BACKEND_PROCESS_H_
#define GRAPHNET_EVALUATE_BACKEND_PROCESS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "graphnet/evaluate/backend_table.h"
#include "graphnet/evaluate/environment.h"
#include "graphnet/evaluate/worker.h"

namespace graphnet {

struct WorkerLimits {
  absl::Duration time = absl::InfiniteDuration();  // of each request
  int64_t memory = 0;                              // bytes; 0: any
  int64_t disk = 0;                                // ditto
};

class BackendProcess {
 public:
  // Its worker runs in `folder`, which is made.
  BackendProcess(const Backend* backend, const WorkerHost& host, const WorkerLimits& limits,
                 std::string folder)
      : backend_(backend), host_(host), limits_(limits), folder_(std::move(folder)) {}

  const Backend& backend() const { return *backend_; }
  // Where the worker may write its outputs.
  const std::string& folder() const { return folder_; }
  // One that lives.
  absl::StatusOr<Worker*> worker();
  bool is_running() const { return worker_ != nullptr && worker_->is_alive(); }
  // The next call of worker() starts another one.
  void Stop() { worker_.reset(); }
  // What it said of itself when it was first started; empty before.
  const WorkerGreeting& greeting() const { return greeting_; }

 private:
  const Backend* backend_;
  WorkerHost host_;
  WorkerLimits limits_;
  std::string folder_;
  std::unique_ptr<Worker> worker_;
  WorkerGreeting greeting_;
};

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_BACKEND_PROCESS_H_

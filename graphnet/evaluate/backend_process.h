// One side of a comparison: a backend and the worker that runs it. The worker is started when it is
// first needed, and again after it has died.
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

// Limits of a worker (ProcessOptions).
struct WorkerLimits {
  absl::Duration time = absl::InfiniteDuration();  // for each request
  int64_t memory = 0;                              // bytes; 0: no limit
  int64_t disk = 0;                                // bytes; 0: no limit
  int threads = 0;                                 // of an operator; 0: as the worker chooses
};

// A backend and its worker, if one is running. Not thread-safe.
class BackendProcess {
 public:
  // The worker runs in `folder`, which is created. `backend` must outlive this.
  BackendProcess(const Backend* backend, const WorkerHost& host, const WorkerLimits& limits,
                 std::string folder)
      : backend_(backend), host_(host), limits_(limits), folder_(std::move(folder)) {}

  const Backend& backend() const { return *backend_; }
  // The folder to which the worker may write its outputs.
  const std::string& folder() const { return folder_; }
  // Returns a live worker. Starts one in an empty folder if there is none.
  absl::StatusOr<Worker*> worker();
  bool is_running() const { return worker_ != nullptr && worker_->is_alive(); }
  // Ends the worker. The next call of worker() starts another one.
  void Stop() { worker_.reset(); }
  // The greeting of the last worker that was started; empty before the first one.
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

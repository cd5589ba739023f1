// A worker that is a library loaded into this process. It answers like a worker process (worker.h)
// and runs on tensors in memory. No limits are enforced, and a crash of the compiler ends this
// process.
#ifndef GRAPHNET_EVALUATE_WORKER_LIBRARY_H_
#define GRAPHNET_EVALUATE_WORKER_LIBRARY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "graphnet/evaluate/worker_process.h"

namespace graphnet {

// A loaded library.
class WorkerLibrary : public WorkerChannel {
 public:
  // Loads the library, which stays loaded until the process ends. FailedPrecondition if the file
  // cannot be loaded or is not a worker.
  static absl::StatusOr<std::shared_ptr<WorkerLibrary>> Load(const std::string& path);

  // Answers a request; `limit` is ignored.
  absl::StatusOr<std::string> Ask(absl::string_view line, absl::Duration limit) override;
  bool is_alive() const override { return true; }
  void Kill() override {}

  // Runs the program in a slot. Takes and returns tensors in the form of a .safetensors file:
  // inputs by name, outputs as "0", "1", …. Unavailable, with the compiler's message, if it fails.
  absl::StatusOr<std::string> Run(int slot, absl::string_view inputs);

 private:
  WorkerLibrary() = default;

  const char* (*answer_)(const char* line) = nullptr;
  int (*run_)(int slot, const char* bytes, size_t size, void* into,
              void (*append)(void* into, const char* text, size_t size)) = nullptr;
};

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_WORKER_LIBRARY_H_

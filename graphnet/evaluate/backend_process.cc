#include "graphnet/evaluate/backend_process.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"

namespace graphnet {

absl::StatusOr<Worker*> BackendProcess::worker() {
  if (worker_ != nullptr && worker_->is_alive()) return worker_.get();
  worker_.reset();
  // Remove the files that the last worker left.
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
  std::filesystem::create_directories(folder_, error);
  if (error) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot create ", Printable(folder_, 1000), ": ", error.message()));
  }
  ProcessOptions options;
  ASSIGN_OR_RETURN(options.command, WorkerCommand(*backend_, host_, folder_));
  options.folder = folder_;
  // Spinning idle threads of one side would take the other side's time.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr)
    options.environment.emplace_back("OMP_WAIT_POLICY", "PASSIVE");
  if (limits_.threads > 0)
    options.environment.emplace_back("OMP_NUM_THREADS", absl::StrCat(limits_.threads));
  options.max_memory = limits_.memory;
  options.max_file_bytes = limits_.disk;
  ASSIGN_OR_RETURN(worker_, Worker::Start(options, limits_.time));
  greeting_ = worker_->greeting();
  return worker_.get();
}

}  // namespace graphnet

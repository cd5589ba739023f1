// Runs a program that is not trusted, in a folder and a process group of its own and under limits.
// It takes lines on its standard input and answers each with a line on file descriptor 3.
#ifndef GRAPHNET_EVALUATE_WORKER_PROCESS_H_
#define GRAPHNET_EVALUATE_WORKER_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace graphnet {

// Limit of one answer.
inline constexpr size_t kMaxAnswerBytes = size_t{16} << 20;
// Limit of all that it prints.
inline constexpr uint64_t kMaxPrintedBytes = uint64_t{256} << 20;

// The program, where it runs, and its limits.
struct ProcessOptions {
  std::vector<std::string> command;  // a path or a name on the PATH, and the arguments
  // Variables that are added to the environment of this process.
  std::vector<std::pair<std::string, std::string>> environment;
  std::string folder;          // its working folder, which must exist; an absolute path
  int64_t max_memory = 0;      // bytes that it and its children may hold at once; 0: no limit
  int64_t max_file_bytes = 0;  // of each file, and of the whole folder; 0: no limit
};

// A running program. Not thread-safe. Killed with all that it started when this is destroyed.
class WorkerProcess {
 public:
  // Starts the program. If it cannot be executed, the first Ask says so.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Start(const ProcessOptions& options);
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess() { Kill(); }

  // Sends a line and waits for the answer, without its line end. After an error, the process and
  // all that it started have been killed; the one-line message says how it ended and quotes what it
  // printed last. DeadlineExceeded if it did not answer within `limit`, ResourceExhausted if it
  // exceeded a limit, Aborted if it died, DataLoss if it sent an answer that was not asked for.
  absl::StatusOr<std::string> Ask(absl::string_view line, absl::Duration limit);
  // Returns whether the process has not ended, as far as is known.
  bool is_alive() const { return pid_ > 0; }
  // Ends the process and all that it started, for callers that get an invalid answer. Does nothing
  // if it has ended.
  void Kill();

 private:
  WorkerProcess() = default;
  void Receive(int fd, std::string* into, bool* at_end) const;
  void KeepPrinted(absl::string_view text);
  absl::Status CheckLimits();
  absl::Status Ended(absl::StatusCode code, absl::string_view how);
  absl::Status Died();

  ProcessOptions options_;
  pid_t pid_ = -1;
  int requests_ = -1;
  int answers_ = -1;
  int prints_ = -1;
  std::string answered_;        // received, but not returned yet
  std::string printed_;         // the end of what it printed
  uint64_t printed_bytes_ = 0;  // number of all bytes that it printed
  int checks_ = 0;              // number of checks of limits
};

// Kills the processes that workers in `folder`, or in a folder below it, have left behind.
void KillLeftProcesses(const std::string& folder);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_WORKER_PROCESS_H_

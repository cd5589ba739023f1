// A program that is not trusted to end well: it runs in a folder and a process group of its own,
// under limits, takes lines on its standard input and answers each with one on file descriptor 3.
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

inline constexpr size_t kMaxAnswerBytes = size_t{16} << 20;
// Of what it prints.
inline constexpr uint64_t kMaxPrintedBytes = uint64_t{256} << 20;

struct ProcessOptions {
  std::vector<std::string> command;  // a path, or a name that PATH knows, and its arguments
  // Beside the environment of this process.
  std::vector<std::pair<std::string, std::string>> environment;
  std::string folder;          // where it runs, which exists; a path from the root
  int64_t max_memory = 0;      // bytes that it and its children hold at once; 0: any
  int64_t max_file_bytes = 0;  // of a file, and of all in the folder; 0: any
};

// Something that answers a line with a line.
class WorkerChannel {
 public:
  virtual ~WorkerChannel() = default;
  virtual absl::StatusOr<std::string> Ask(absl::string_view line, absl::Duration limit) = 0;
  virtual bool is_alive() const = 0;
  virtual void Kill() = 0;
};

class WorkerProcess : public WorkerChannel {
 public:
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Start(const ProcessOptions& options);
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess() override { Kill(); }

  // Sends a line and waits for the answer, without its end. After an error the process and all
  // that it started are gone; the message is one line that says how it ended, with what it printed
  // last: DeadlineExceeded if it did not answer within `limit`, ResourceExhausted beyond a limit,
  // Aborted if it died, DataLoss if it said what nobody asked for.
  absl::StatusOr<std::string> Ask(absl::string_view line, absl::Duration limit) override;
  bool is_alive() const override { return pid_ > 0; }
  // For who finds an answer to be nonsense. Does nothing to one that is gone.
  void Kill() final;

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
  std::string answered_;        // not yet asked for
  std::string printed_;         // the end of it
  uint64_t printed_bytes_ = 0;  // all of it
  int checks_ = 0;              // of limits
};

// Kills the processes that ones of `folder`, or of a folder below it, have left behind.
void KillLeftProcesses(const std::string& folder);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_WORKER_PROCESS_H_

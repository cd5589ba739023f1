#include "graphnet/view/graphviz.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX has it in no header

namespace graphnet {
namespace {

constexpr rlim_t kMaxMemory = rlim_t{4} << 30;
constexpr rlim_t kMaxOutput = rlim_t{1} << 30;
constexpr size_t kMaxMessageBytes = 300;

// A file in memory that closes itself.
class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("graphnet", MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (fd_ >= 0) close(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int fd() const { return fd_; }

  bool Write(absl::string_view content) {
    while (!content.empty()) {
      const ssize_t n = write(fd_, content.data(), content.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      content.remove_prefix(static_cast<size_t>(n));
    }
    return lseek(fd_, 0, SEEK_SET) == 0;
  }

  std::string Read() const {
    const off_t size = lseek(fd_, 0, SEEK_END);
    std::string content(size > 0 ? static_cast<size_t>(size) : 0, '\0');
    size_t done = 0;
    while (done < content.size()) {
      const ssize_t n = pread(fd_, &content[done], content.size() - done, static_cast<off_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    content.resize(done);
    return content;
  }

 private:
  int fd_;
};

// Returns the state that waitpid reports, or -1 once the time limit has passed.
int WaitFor(pid_t child, std::chrono::seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::chrono::milliseconds pause(1);
  int state = 0;
  while (true) {
    const pid_t ended = waitpid(child, &state, WNOHANG);
    if (ended == child) return state;
    if (ended < 0 && errno != EINTR) return -1;
    if (std::chrono::steady_clock::now() > deadline) break;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(50));
  }
  kill(child, SIGKILL);
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  return -1;
}

}  // namespace

absl::StatusOr<std::string> RunGraphviz(absl::string_view text, absl::string_view format,
                                        std::chrono::seconds limit) {
  MemoryFile in;
  MemoryFile out;
  MemoryFile errors;
  if (in.fd() < 0 || out.fd() < 0 || errors.fd() < 0 || !in.Write(text)) {
    return absl::InternalError(absl::StrCat("cannot start dot: ", std::strerror(errno)));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.fd(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.fd(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.fd(), STDERR_FILENO);
  std::string name = "dot";
  std::string option = absl::StrCat("-T", format);
  char* const arguments[] = {name.data(), option.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, "dot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed == ENOENT || failed == EACCES) {
    return absl::NotFoundError("Graphviz is not installed: the program dot is not on the PATH");
  }
  if (failed != 0) {
    return absl::InternalError(absl::StrCat("cannot start dot: ", std::strerror(failed)));
  }
  const rlimit memory = {kMaxMemory, kMaxMemory};
  const rlimit output = {kMaxOutput, kMaxOutput};
  prlimit(child, RLIMIT_AS, &memory, nullptr);
  prlimit(child, RLIMIT_FSIZE, &output, nullptr);
  const int state = WaitFor(child, limit);
  if (state == -1) {
    return absl::DeadlineExceededError(
        absl::StrCat("Graphviz did not finish within ", limit.count(), " s"));
  }
  std::string drawn = out.Read();
  if (!WIFEXITED(state) || WEXITSTATUS(state) != 0 || drawn.empty()) {
    std::string said = errors.Read();
    said.resize(std::min(said.find('\n'), said.size()));
    return absl::InternalError(absl::StrCat("Graphviz has failed", said.empty() ? "" : ": ",
                                            Printable(said, kMaxMessageBytes)));
  }
  return drawn;
}

}  // namespace graphnet

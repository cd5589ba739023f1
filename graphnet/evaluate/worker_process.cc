#include "graphnet/evaluate/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/base/without_exceptions.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX has it so

namespace graphnet {
namespace {

constexpr int kAnswerDescriptor = 3;
constexpr size_t kKeptPrintedBytes = 64 << 10;
constexpr absl::Duration kCheckInterval = absl::Milliseconds(100);
constexpr int kChecksPerLookIntoFolder = 10;
constexpr absl::Duration kTimeToDie = absl::Seconds(2);
constexpr int kRoundsOfKilling = 200;

// The variable that marks the children of a worker, even those that left its process group.
constexpr absl::string_view kMark = "GRAPHNET_WORKER_FOLDER";

void CloseAndForget(int* fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

// Both ends of a pipe or socket, which are closed with this object.
struct Ends {
  Ends() = default;
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  ~Ends() {
    for (int& fd : fds) CloseAndForget(&fd);
  }
  std::array<int, 2> fds{-1, -1};
};

// A thread that runs tasks for others, one after the other, as long as the process lives.
class ForkingThread {
 public:
  ForkingThread() : process_(getpid()) {
    std::thread([this] { Serve(); }).detach();
  }
  // True if the thread exists: a forked process has none of its parent's threads.
  bool is_here() const { return process_ == getpid(); }

  // Runs one task and waits for its end.
  void Run(const std::function<void()>& task) {
    std::unique_lock<std::mutex> lock(mutex_);
    task_ = &task;
    changed_.notify_all();
    changed_.wait(lock, [this] { return task_ == nullptr; });
  }

 private:
  [[noreturn]] void Serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return task_ != nullptr; });
      (*task_)();
      task_ = nullptr;
      changed_.notify_all();
    }
  }

  const pid_t process_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* task_ = nullptr;
};

// A worker dies with the thread that forked it (PR_SET_PDEATHSIG), so one that lives as long as the
// process does that.
absl::Status OnForkingThread(const std::function<void()>& task) {
  static std::mutex mutex;
  static ForkingThread* thread = nullptr;
  // The system may refuse another thread.
  return WithoutExceptions([&] {
    const std::lock_guard<std::mutex> lock(mutex);
    if (thread == nullptr || !thread->is_here()) thread = new ForkingThread;
    thread->Run(task);
    return absl::OkStatus();
  });
}

absl::Status SystemError(absl::string_view what) {
  return absl::InternalError(absl::StrCat(what, ": ", std::strerror(errno)));
}

// Moves descriptors above those that have a meaning in the child, and has exec close them.
absl::Status Secure(std::array<int, 2>* fds) {
  for (int& fd : *fds) {
    const int moved = fcntl(fd, F_DUPFD_CLOEXEC, kAnswerDescriptor + 1);
    if (moved < 0) return SystemError("cannot start a worker");
    close(fd);
    fd = moved;
  }
  return absl::OkStatus();
}

std::vector<std::string> ListOrNothing(const std::string& folder) {
  auto names = ListFolder(folder);
  return names.ok() ? *std::move(names) : std::vector<std::string>();
}

std::string ReadOrNothing(const std::string& path) {
  // Files in /proc have no size.
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  std::array<char, 4096> part{};
  for (ssize_t n = read(fd, part.data(), part.size()); n > 0;
       n = read(fd, part.data(), part.size())) {
    text.append(part.data(), static_cast<size_t>(n));
  }
  close(fd);
  return text;
}

// Returns the resident bytes of a process and its children.
int64_t ResidentBytes(pid_t pid) {
  const std::string folder = absl::StrCat("/proc/", pid);
  const std::vector<std::string> sizes = absl::StrSplit(ReadOrNothing(folder + "/statm"), ' ');
  int64_t pages = 0;
  if (sizes.size() < 2 || !absl::SimpleAtoi(sizes[1], &pages)) return 0;
  int64_t bytes = pages * sysconf(_SC_PAGESIZE);
  for (const std::string& thread : ListOrNothing(folder + "/task")) {
    const std::string children = ReadOrNothing(absl::StrCat(folder, "/task/", thread, "/children"));
    for (const absl::string_view child : absl::StrSplit(children, ' ', absl::SkipWhitespace())) {
      pid_t child_pid = 0;
      if (absl::SimpleAtoi(child, &child_pid)) bytes += ResidentBytes(child_pid);
    }
  }
  return bytes;
}

int64_t BytesBelow(const std::string& folder) {
  int64_t bytes = 0;
  std::error_code error;
  // Files that disappear in the meantime are skipped.
  for (auto it = std::filesystem::recursive_directory_iterator(
           folder, std::filesystem::directory_options::skip_permission_denied, error);
       !error && it != std::filesystem::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    const uintmax_t size = it->is_regular_file(ignored) ? it->file_size(ignored) : 0;
    if (!ignored) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

std::string Mebibytes(int64_t bytes) { return absl::StrCat(bytes >> 20, " MiB"); }

bool LooksLikeError(absl::string_view line) {
  return absl::StrContains(line, "Error") || absl::StrContains(line, "error:") ||
         absl::StrContains(line, "Exception") || absl::StrContains(line, "what():") ||
         absl::StrContains(line, "terminate called") || absl::StrContains(line, "Assertion") ||
         absl::StrContains(line, "o space left");
}

// Returns how a process ended, without reaping it; si_pid is 0 if it has not ended.
siginfo_t StateOf(pid_t pid) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return {};
  return info;
}

// Returns the last line that looks like an error, or the last line if none does.
std::string LastWords(absl::string_view printed) {
  std::string last;
  bool is_error = false;
  for (absl::string_view line : absl::StrSplit(printed, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    if (const bool error = LooksLikeError(line); error || !is_error) {
      is_error = error;
      last = std::string(line);
    }
  }
  return Printable(last, 500);
}

// The work of the child between fork and exec; only async-signal-safe calls are allowed there.
[[noreturn]] void BecomeWorker(const ProcessOptions& options, char* const* arguments,
                               char* const* environment, int requests, int answers, int prints,
                               pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent died before prctl
  if (options.max_file_bytes > 0) {
    const rlimit limit = {static_cast<rlim_t>(options.max_file_bytes),
                          static_cast<rlim_t>(options.max_file_bytes)};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  const rlimit no_dump = {0, 0};
  setrlimit(RLIMIT_CORE, &no_dump);
  // If memory runs out, the kernel should end this process first.
  if (const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); fd >= 0) {
    [[maybe_unused]] const ssize_t written = write(fd, "1000", 4);
    close(fd);
  }
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGXFSZ, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (chdir(options.folder.c_str()) != 0 || dup2(requests, STDIN_FILENO) < 0 ||
      dup2(prints, STDOUT_FILENO) < 0 || dup2(prints, STDERR_FILENO) < 0 ||
      dup2(answers, kAnswerDescriptor) < 0) {
    _exit(127);
  }
  execvpe(arguments[0], arguments, environment);
  constexpr char kMessage[] = "error: the program cannot be started: ";
  const char* reason = std::strerror(errno);
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  written = write(STDERR_FILENO, reason, std::strlen(reason));
  _exit(127);
}

std::vector<char*> Pointers(std::vector<std::string>* texts) {
  std::vector<char*> pointers;
  for (std::string& text : *texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> EnvironmentOf(const ProcessOptions& options) {
  std::map<std::string, std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(*variable, absl::MaxSplits('=', 1));
    variables.insert(parts);
  }
  for (const auto& [name, value] : options.environment) variables[name] = value;
  variables[std::string(kMark)] = options.folder;
  std::vector<std::string> texts;
  for (const auto& [name, value] : variables) texts.push_back(absl::StrCat(name, "=", value));
  return texts;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(const ProcessOptions& options) {
  Ends requests;  // ours, theirs
  Ends answers;
  Ends prints;
  // Requests use a socket, as a write to one without a reader need not raise a signal. All ends are
  // closed on exec, as another thread may start a program at any moment.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, requests.fds.data()) != 0 ||
      pipe2(answers.fds.data(), O_CLOEXEC) != 0 || pipe2(prints.fds.data(), O_CLOEXEC) != 0) {
    return SystemError("cannot start a worker");
  }
  for (Ends* ends : {&requests, &answers, &prints}) RETURN_IF_ERROR(Secure(&ends->fds));
  std::vector<std::string> command = options.command;
  std::vector<std::string> environment = EnvironmentOf(options);
  const std::vector<char*> command_pointers = Pointers(&command);
  const std::vector<char*> environment_pointers = Pointers(&environment);
  const pid_t parent = getpid();
  pid_t pid = -1;
  int error = 0;
  RETURN_IF_ERROR(OnForkingThread([&] {
    pid = fork();
    if (pid == 0) {
      BecomeWorker(options, command_pointers.data(), environment_pointers.data(), requests.fds[1],
                   answers.fds[1], prints.fds[1], parent);
    }
    error = errno;
  }));
  if (pid < 0) {
    errno = error;
    return SystemError("cannot start a worker");
  }
  setpgid(pid, pid);  // parent and child both set it; either may be first
  for (Ends* ends : {&requests, &answers, &prints}) {
    CloseAndForget(&ends->fds[1]);
    fcntl(ends->fds[0], F_SETFL, fcntl(ends->fds[0], F_GETFL) | O_NONBLOCK);
  }
  std::unique_ptr<WorkerProcess> process(new WorkerProcess);
  process->options_ = options;
  process->pid_ = pid;
  process->requests_ = std::exchange(requests.fds[0], -1);
  process->answers_ = std::exchange(answers.fds[0], -1);
  process->prints_ = std::exchange(prints.fds[0], -1);
  return process;
}

// Reads all that is available.
void WorkerProcess::Receive(int fd, std::string* into, bool* at_end) const {
  std::array<char, 1 << 16> part;
  while (into->size() <= kMaxAnswerBytes) {
    const ssize_t n = read(fd, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      *at_end = n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
      return;
    }
    into->append(part.data(), static_cast<size_t>(n));
  }
}

void WorkerProcess::KeepPrinted(absl::string_view text) {
  printed_bytes_ += text.size();
  printed_.append(text.data(), text.size());
  if (printed_.size() > 2 * kKeptPrintedBytes) {
    printed_.erase(0, printed_.size() - kKeptPrintedBytes);
  }
}

absl::StatusOr<std::string> WorkerProcess::Ask(absl::string_view line, absl::Duration limit) {
  if (!is_alive()) return absl::AbortedError("the worker has ended");
  const absl::Time deadline = absl::Now() + limit;
  absl::Time next_check = absl::Now() + kCheckInterval;
  std::string unsent = absl::StrCat(line, "\n");
  bool ended = false;
  bool prints_ended = false;
  Receive(answers_, &answered_, &ended);
  if (!answered_.empty()) {
    return Ended(absl::StatusCode::kDataLoss,
                 absl::StrCat("garbage: sent '", Printable(answered_, 100), "' without a request"));
  }
  while (true) {
    if (const size_t end = answered_.find('\n'); end != std::string::npos) {
      std::string answer = answered_.substr(0, end);
      answered_.erase(0, end + 1);
      // Output up to here belongs to this request and does not explain how another one ends.
      std::string text;
      Receive(prints_, &text, &prints_ended);
      KeepPrinted(text);
      printed_.clear();
      return answer;
    }
    if (answered_.size() > kMaxAnswerBytes) {
      return Ended(absl::StatusCode::kDataLoss, "garbage: an answer without an end");
    }
    if (ended) return Died();
    const absl::Time now = absl::Now();
    if (now >= deadline) {
      return Ended(absl::StatusCode::kDeadlineExceeded,
                   absl::StrCat("hang: no answer within ", absl::FormatDuration(limit)));
    }
    if (now >= next_check) {
      if (StateOf(pid_).si_pid != 0) {
        // Take its last answer first.
        Receive(answers_, &answered_, &ended);
        if (answered_.find('\n') != std::string::npos) continue;
        return Died();
      }
      RETURN_IF_ERROR(CheckLimits());
      next_check = absl::Now() + kCheckInterval;
    }
    pollfd files[] = {
        {.fd = answers_, .events = POLLIN, .revents = 0},
        {.fd = prints_ended ? -1 : prints_, .events = POLLIN, .revents = 0},
        {.fd = unsent.empty() ? -1 : requests_, .events = POLLOUT, .revents = 0},
    };
    const absl::Duration wait = std::min(deadline, next_check) - now;
    poll(files, 3, static_cast<int>(absl::ToInt64Milliseconds(wait)) + 1);
    if (files[2].revents != 0) {
      const ssize_t n = send(requests_, unsent.data(), unsent.size(), MSG_NOSIGNAL);
      if (n > 0) unsent.erase(0, static_cast<size_t>(n));
      // There is no reader; the worker's last answer or its end comes with the answers.
      if (n < 0 && errno != EAGAIN && errno != EINTR) unsent.clear();
    }
    if (files[1].revents != 0) {
      std::string text;
      Receive(prints_, &text, &prints_ended);
      KeepPrinted(text);
    }
    if (files[0].revents != 0) Receive(answers_, &answered_, &ended);
    if (printed_bytes_ > kMaxPrintedBytes) {
      return Ended(absl::StatusCode::kResourceExhausted,
                   absl::StrCat("printed more than ", Mebibytes(kMaxPrintedBytes)));
    }
  }
}

absl::Status WorkerProcess::CheckLimits() {
  if (options_.max_memory > 0 && ResidentBytes(pid_) > options_.max_memory) {
    return Ended(absl::StatusCode::kResourceExhausted,
                 absl::StrCat("memory: took more than ", Mebibytes(options_.max_memory)));
  }
  if (options_.max_file_bytes > 0 && ++checks_ % kChecksPerLookIntoFolder == 0 &&
      BytesBelow(options_.folder) > options_.max_file_bytes) {
    return Ended(absl::StatusCode::kResourceExhausted,
                 absl::StrCat("disk: wrote more than ", Mebibytes(options_.max_file_bytes)));
  }
  return absl::OkStatus();
}

// Handles a worker that closed its answers or has ended; its children may keep its pipes open.
absl::Status WorkerProcess::Died() {
  const absl::Time limit = absl::Now() + kTimeToDie;
  siginfo_t info = StateOf(pid_);
  while (info.si_pid == 0 && absl::Now() < limit) {
    absl::SleepFor(absl::Milliseconds(2));
    info = StateOf(pid_);
  }
  std::string how = "closed its answers";
  if (info.si_pid == pid_ && info.si_code == CLD_EXITED) {
    how = absl::StrCat("exit: ended with code ", info.si_status);
  } else if (info.si_pid == pid_ && info.si_status == SIGXFSZ) {
    how = absl::StrCat("disk: wrote a file of more than ", Mebibytes(options_.max_file_bytes));
  } else if (info.si_pid == pid_) {
    how = absl::StrCat("crash: killed by signal ", info.si_status, " (", strsignal(info.si_status),
                       ")", info.si_status == SIGKILL ? ", perhaps for lack of memory" : "");
  }
  bool at_end = false;
  std::string text;
  Receive(prints_, &text, &at_end);
  KeepPrinted(text);
  return Ended(absl::StatusCode::kAborted, how);
}

absl::Status WorkerProcess::Ended(absl::StatusCode code, absl::string_view how) {
  Kill();
  const std::string words = LastWords(printed_);
  return {code, absl::StrCat(how, words.empty() ? "" : "; it printed: ", words)};
}

void WorkerProcess::Kill() {
  if (pid_ <= 0) return;
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  KillLeftProcesses(options_.folder);
  CloseAndForget(&requests_);
  CloseAndForget(&answers_);
  CloseAndForget(&prints_);
}

void KillLeftProcesses(const std::string& folder) {
  const std::string mark = absl::StrCat(kMark, "=", folder);
  // A killed process may have forked before, and takes a moment to end.
  for (int round = 0; round < kRoundsOfKilling; ++round) {
    if (round > 0) absl::SleepFor(absl::Milliseconds(2));
    bool found = false;
    for (const std::string& name : ListOrNothing("/proc")) {
      pid_t pid = 0;
      if (!absl::SimpleAtoi(name, &pid) || pid == getpid()) continue;
      const std::string variables = ReadOrNothing(absl::StrCat("/proc/", name, "/environ"));
      for (absl::string_view variable : absl::StrSplit(variables, '\0')) {
        if (variable != mark && !absl::StartsWith(variable, mark + "/")) continue;
        kill(pid, SIGKILL);
        found = true;
      }
    }
    if (!found) return;
  }
}

}  // namespace graphnet

#include "graphnet/formats/corpus/corpus_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "graphnet/base/package_python.h"
#include "graphnet/base/status.h"

extern char** environ;

namespace graphnet {
namespace {

constexpr uint64_t kMaxReasonBytes = 1 << 20;

// The Python that all processes run.
class ChosenPython {
 public:
  static ChosenPython& Get() {
    static auto* chosen = new ChosenPython;
    return *chosen;
  }

  void Set(PackagePython python) {
    const absl::MutexLock lock(&mutex_);
    python_ = std::move(python);
  }

  PackagePython python() {
    const absl::MutexLock lock(&mutex_);
    if (python_.program.empty()) python_ = FindPackagePython();
    return python_;
  }

 private:
  absl::Mutex mutex_;
  PackagePython python_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

void SetPythonOfCorpora(const std::string& python, const std::string& package_folder) {
  ChosenPython::Get().Set({python, package_folder});
}

absl::StatusOr<std::unique_ptr<CorpusProcess>> CorpusProcess::Start(const std::string& module,
                                                                    const std::string& corpus,
                                                                    int max_seconds) {
  const PackagePython python = ChosenPython::Get().python();
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return absl::ErrnoToStatus(errno, "cannot make a socket");
  const timeval limit = {max_seconds, 0};
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));

  // A group of its own, so that Ctrl-C ends this program only, whose end is the end of the socket.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);

  // Without -P, modules in the current folder would come first.
  std::vector<std::string> words = {python.program, "-P", "-m", module, corpus};
  std::vector<std::string> variables;
  std::string search;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (absl::StartsWith(*variable, "PYTHONPATH=")) {
      search = *variable + sizeof("PYTHONPATH=") - 1;
    } else {
      variables.emplace_back(*variable);
    }
  }
  search = python.SearchPath(search);
  if (!search.empty()) variables.push_back(absl::StrCat("PYTHONPATH=", search));
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> made;
    made.reserve(texts.size() + 1);
    for (std::string& text : texts) made.push_back(text.data());
    made.push_back(nullptr);
    return made;
  };
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, python.program.c_str(), &actions, &attributes,
                                 pointers(words).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    return absl::FailedPreconditionError(
        absl::StrCat("a corpus needs Python, and ", Printable(python.program, 1000),
                     " cannot be run: set GRAPHNET_PYTHON to a Python that has "
                     "graphnet_ir[corpus]"));
  }
  return std::unique_ptr<CorpusProcess>(new CorpusProcess(ends[0], pid, python.program));
}

absl::Status CorpusProcess::Died() {
  if (!std::exchange(is_dead_, true)) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (has_answered_)
    return absl::DataLossError("the process that works on the corpus has ended or does not answer");
  return absl::FailedPreconditionError(
      absl::StrCat("a corpus needs Python, and ", Printable(python_, 1000),
                   " has no package graphnet_ir of this version: pip install "
                   "'graphnet_ir[corpus]', or set GRAPHNET_PYTHON"));
}

absl::Status CorpusProcess::ReceiveBytes(char* into, uint64_t size) {
  while (size > 0) {
    const ssize_t got = recv(socket_, into, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Died();
    into += got;
    size -= static_cast<uint64_t>(got);
  }
  return absl::OkStatus();
}

absl::Status CorpusProcess::Send(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) {
      // The reason may be what it said before it ended.
      absl::Status said = Receive(kMaxReasonBytes).status();
      absl::Status died = Died();
      return said.ok() ? died : said;
    }
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return absl::OkStatus();
}

void CorpusProcess::EndSending() { shutdown(socket_, SHUT_WR); }

absl::StatusOr<std::string> CorpusProcess::Receive(uint64_t max_bytes) {
  // A letter that says what the answer is, and its size.
  std::array<char, 9> head{};
  RETURN_IF_ERROR(ReceiveBytes(head.data(), head.size()));
  has_answered_ = true;
  uint64_t size = 0;
  for (int i = 8; i > 0; --i) size = size << 8 | static_cast<unsigned char>(head[i]);
  if (size > max_bytes) {
    Died().IgnoreError();
    return absl::ResourceExhaustedError(
        absl::StrCat("an answer of ", size, " bytes is over the limit of ", max_bytes));
  }
  std::string answer(size, '\0');
  RETURN_IF_ERROR(ReceiveBytes(answer.data(), size));
  switch (head[0]) {
    case 'o': return answer;
    case 'n': return absl::NotFoundError(answer);
    case 'p': return absl::FailedPreconditionError(answer);
    default: return absl::DataLossError(answer);
  }
}

}  // namespace graphnet

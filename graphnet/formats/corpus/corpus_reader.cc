#include "graphnet/formats/corpus/corpus_reader.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"

extern char** environ;

namespace graphnet {
namespace {

constexpr int kMaxSeconds = 300;  // for one answer
constexpr uint64_t kMaxListBytes = uint64_t{1} << 30;

// The Python that reads corpora, and the folder of the package.
struct Python {
  std::string program;
  std::string package_folder;
};

// Returns the Python of the installed package that this program is part of: the program is
// PREFIX/lib/python3.N/site-packages/graphnet_ir/bin/graphnet.
Python FindPython() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path packages = self.parent_path().parent_path().parent_path();
  const bool is_packed = !error && FileExists((packages / "graphnet_ir" / "corpus").string());
  Python python = {"python3", is_packed ? packages.string() : ""};
  const std::filesystem::path beside =
      packages.parent_path().parent_path().parent_path() / "bin" / "python3";
  if (is_packed && FileExists(beside.string())) python.program = beside.string();
  if (const char* named = std::getenv("GRAPHNET_PYTHON"); named != nullptr && *named != '\0')
    python.program = named;
  return python;
}

// A process that reads one corpus.
class Reader {
 public:
  // `path` is the corpus.
  static absl::StatusOr<std::unique_ptr<Reader>> Start(const Python& python,
                                                       const std::string& path);
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  // Without its socket, the process ends by itself.
  ~Reader() { close(socket_); }

  // Returns whether this process started it. A forked one has a copy of the socket.
  bool is_ours() const { return owner_ == getpid(); }

  // Sends a request of one line and returns the answer.
  absl::StatusOr<std::string> Ask(absl::string_view request, uint64_t max_bytes);

  // After this, each Ask fails.
  bool is_dead() const { return is_dead_; }

 private:
  Reader(int socket, pid_t pid, Python python)
      : socket_(socket), pid_(pid), python_(std::move(python)) {}
  absl::Status Receive(char* into, uint64_t size);
  absl::Status Died();

  int socket_;
  pid_t pid_;
  pid_t owner_ = getpid();
  Python python_;
  bool has_answered_ = false;
  bool is_dead_ = false;
};

absl::StatusOr<std::unique_ptr<Reader>> Reader::Start(const Python& python,
                                                      const std::string& path) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return absl::ErrnoToStatus(errno, "cannot make a socket");
  const timeval limit = {kMaxSeconds, 0};
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
  std::vector<std::string> words = {python.program, "-P", "-m", "graphnet_ir.corpus.reading", path};
  std::vector<std::string> variables;
  std::string search;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (absl::StartsWith(*variable, "PYTHONPATH=")) {
      search = *variable + sizeof("PYTHONPATH=") - 1;
    } else {
      variables.emplace_back(*variable);
    }
  }
  if (!python.package_folder.empty())
    search = absl::StrCat(python.package_folder, search.empty() ? "" : ":", search);
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
        absl::StrCat("a corpus is read by Python, and ", Printable(python.program, 1000),
                     " cannot be run: set GRAPHNET_PYTHON to a Python that has "
                     "graphnet_ir[corpus]"));
  }
  return std::unique_ptr<Reader>(new Reader(ends[0], pid, python));
}

absl::Status Reader::Died() {
  is_dead_ = true;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  if (has_answered_)
    return absl::DataLossError("the process that reads the corpus has ended or does not answer");
  return absl::FailedPreconditionError(
      absl::StrCat("a corpus is read by Python, and ", Printable(python_.program, 1000),
                   " has no package graphnet_ir of this version: pip install "
                   "'graphnet_ir[corpus]', or set GRAPHNET_PYTHON"));
}

absl::Status Reader::Receive(char* into, uint64_t size) {
  while (size > 0) {
    const ssize_t got = recv(socket_, into, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Died();
    into += got;
    size -= static_cast<uint64_t>(got);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Reader::Ask(absl::string_view request, uint64_t max_bytes) {
  const std::string line = absl::StrCat(request, "\n");
  for (absl::string_view left = line; !left.empty();) {
    const ssize_t sent = send(socket_, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return Died();
    left.remove_prefix(static_cast<size_t>(sent));
  }
  // A letter that says what the answer is, and its size.
  std::array<char, 9> head{};
  RETURN_IF_ERROR(Receive(head.data(), head.size()));
  has_answered_ = true;
  uint64_t size = 0;
  for (int i = 8; i > 0; --i) size = size << 8 | static_cast<unsigned char>(head[i]);
  if (size > max_bytes) {
    Died().IgnoreError();
    return absl::ResourceExhaustedError(
        absl::StrCat("an answer of ", size, " bytes is over the limit of ", max_bytes));
  }
  std::string answer(size, '\0');
  RETURN_IF_ERROR(Receive(answer.data(), size));
  switch (head[0]) {
    case 'o': return answer;
    case 'n': return absl::NotFoundError(answer);
    case 'p': return absl::FailedPreconditionError(answer);
    default: return absl::DataLossError(answer);
  }
}

// The readers of all corpora, and the Python that they run.
class Readers {
 public:
  static Readers& Get() {
    static auto* readers = new Readers;
    return *readers;
  }

  void SetPython(Python python) {
    const absl::MutexLock lock(&mutex_);
    python_ = std::move(python);
  }

  absl::StatusOr<std::string> Ask(const std::string& path, absl::string_view request,
                                  uint64_t max_bytes) {
    if (absl::c_any_of(request, absl::ascii_iscntrl))
      return absl::NotFoundError("there is no such graph, tag or view");
    const absl::MutexLock lock(&mutex_);
    std::unique_ptr<Reader>& reader = readers_[path];
    if (reader == nullptr || reader->is_dead() || !reader->is_ours()) {
      if (python_.program.empty()) python_ = FindPython();
      ASSIGN_OR_RETURN(reader, Reader::Start(python_, path));
    }
    return reader->Ask(request, max_bytes);
  }

 private:
  absl::Mutex mutex_;
  Python python_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::unique_ptr<Reader>> readers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

bool IsCorpusFolder(const std::string& path) {
  return FileExists(JoinPath(path, "corpus.json")) && IsFolder(JoinPath(path, "graphs.lance"));
}

void SetPythonOfCorpora(const std::string& python, const std::string& package_folder) {
  Readers::Get().SetPython({python, package_folder});
}

absl::StatusOr<std::vector<std::string>> ListCorpus(const std::string& path,
                                                    const std::string& selection) {
  ASSIGN_OR_RETURN(const std::string answer,
                   Readers::Get().Ask(path, absl::StrCat("list ", selection), kMaxListBytes));
  return absl::StrSplit(answer, '\n', absl::SkipEmpty());
}

absl::StatusOr<std::string> ReadCorpusGraph(const std::string& path, const std::string& selection,
                                            const std::string& graph, bool weights) {
  return Readers::Get().Ask(
      path, absl::StrCat(weights ? "weights " : "graph ", selection, "/", graph), kMaxProtoBytes);
}

}  // namespace graphnet

#include "graphnet/evaluate/reduce_question.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/evaluate/bench_workers.h"

namespace graphnet {
namespace {

class CommandQuestion final : public Question {
 public:
  CommandQuestion(std::string command, double seconds)
      : command_(std::move(command)), seconds_(seconds) {}

  absl::StatusOr<bool> Ask(const std::string& path) override {
    const std::string quoted = absl::StrCat("'", absl::StrReplaceAll(path, {{"'", "'\\''"}}), "'");
    const std::string command = absl::StrReplaceAll(command_, {{"{}", quoted}});
    ASSIGN_OR_RETURN(const int code, Run(command));
    if (!std::exchange(has_asked_, true) && code != 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("--command exits with ", code,
                       " on the sample itself; it must exit with 0 if a sample is interesting"));
    }
    return code == 0;
  }
  std::string Kept() const override { return Printable(command_, 1000); }

 private:
  // Runs a command without its output. Returns the exit code as a shell does; 124 if it took too
  // long.
  absl::StatusOr<int> Run(std::string command) const {
    std::string seconds = absl::StrCat(seconds_);
    std::string words[] = {"timeout", "-k", "1", seconds, "sh", "-c", std::move(command)};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
    pid_t pid = 0;
    const int error = posix_spawnp(&pid, "timeout", &files, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    if (error != 0) return absl::FailedPreconditionError("--command cannot be started");
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  const std::string command_;
  const double seconds_;
  bool has_asked_ = false;
};

class QuestionOfBackend final : public BackendQuestion {
 public:
  QuestionOfBackend(const BenchRun& run, std::vector<Backend> backends, const std::string& folder)
      : backends_(std::move(backends)), workers_(run, backends_, JoinPath(folder, "workers")) {}

  absl::Status Start() { return workers_.Start(); }

  absl::StatusOr<bool> Ask(const std::string& path) override {
    FailureKind kind;
    RETURN_IF_ERROR(workers_.Run(path, {true}, [&](size_t, const BenchOutcome& outcome) {
      kind = FailureKindOf(outcome.result);
      // A blind sample shows nothing of the backend.
      if (kind.outcome == Outcome::kBlind) kind = {};
      return absl::OkStatus();
    }));
    if (kept_.has_value()) return kind == *kept_;
    if (kind.outcome == Outcome::kCorrect) {
      return absl::FailedPreconditionError(
          absl::StrCat("nothing to reduce: ", backends_[0].name, " is right on this sample"));
    }
    kept_ = std::move(kind);
    return true;
  }
  void Forget() override { kept_.reset(); }
  const FailureKind& kind() const override { return *kept_; }
  std::string Kept() const override {
    return kept_.has_value() ? absl::StrCat(backends_[0].name, ": ", DescribeFailure(*kept_)) : "";
  }

 private:
  const std::vector<Backend> backends_;
  BenchWorkers workers_;
  std::optional<FailureKind> kept_;
};

}  // namespace

std::unique_ptr<Question> MakeCommandQuestion(std::string command, double seconds) {
  return std::make_unique<CommandQuestion>(std::move(command), seconds);
}

absl::StatusOr<std::unique_ptr<BackendQuestion>> MakeBackendQuestion(const BenchRun& run,
                                                                     const std::string& folder) {
  ASSIGN_OR_RETURN(std::vector<Backend> backends, BackendsOf(run.settings));
  auto question = std::make_unique<QuestionOfBackend>(run, std::move(backends), folder);
  RETURN_IF_ERROR(question->Start());
  return question;
}

}  // namespace graphnet

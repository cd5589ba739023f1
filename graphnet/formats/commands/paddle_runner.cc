#include "graphnet/formats/commands/paddle_runner.h"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/paddle/worker_text.h"

namespace graphnet {
namespace {

constexpr char kProgram[] = "paddle_worker.py";

absl::StatusOr<std::string> PythonOf(const std::string& environment) {
  std::error_code ignored;
  const std::filesystem::path given(environment);
  const bool is_folder = std::filesystem::is_directory(given, ignored);
  const std::filesystem::path python = is_folder ? given / "bin" / "python" : given;
  const bool is_program =
      std::filesystem::is_regular_file(python, ignored) && access(python.c_str(), X_OK) == 0;
  if (!is_program) {
    return absl::NotFoundError(absl::StrCat("--paddle-python: ", Printable(python.string(), 1000),
                                            " is not a program that can be run"));
  }
  // Links are not resolved: Python finds its virtual environment by the path of the program.
  return std::filesystem::absolute(python).string();
}

}  // namespace

absl::StatusOr<std::unique_ptr<PaddleRunner>> PaddleRunner::Start(const std::string& environment,
                                                                  absl::Duration limit) {
  ASSIGN_OR_RETURN(const std::string python, PythonOf(environment));
  std::unique_ptr<PaddleRunner> runner(new PaddleRunner(python, limit));
  ASSIGN_OR_RETURN(runner->folder_, ScratchFolder::Make());
  RETURN_IF_ERROR(WriteFileAtomic(JoinPath(runner->folder_->path(), kProgram), PaddleWorkerPy()));
  if (const absl::Status started = runner->StartWorker(); !started.ok()) {
    return absl::FailedPreconditionError(absl::StrCat("--paddle-python: ", Printable(python, 1000),
                                                      " cannot run Paddle: ", started.message()));
  }
  runner->version_ = runner->worker_->greeting().version;
  return runner;
}

absl::Status PaddleRunner::StartWorker() {
  const std::string& folder = folder_->path();
  ASSIGN_OR_RETURN(worker_,
                   Worker::StartScript(python_, JoinPath(folder, kProgram), folder, limit_));
  return absl::OkStatus();
}

absl::Status PaddleRunner::Run(const std::string& sample) {
  if (worker_ == nullptr || !worker_->is_alive()) RETURN_IF_ERROR(StartWorker());
  PrepareRequest request;
  request.program = std::filesystem::absolute(sample).lexically_normal().string();
  RETURN_IF_ERROR(worker_->Prepare(request));
  const std::string none = JoinPath(folder_->path(), "none");
  return worker_->Run(none, none, /*seed=*/0).status();
}

absl::string_view PaddleErrorClass(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kFailedPrecondition: return "load";
    case absl::StatusCode::kUnavailable: return "run";
    case absl::StatusCode::kDeadlineExceeded: return "time limit";
    case absl::StatusCode::kResourceExhausted: return "limit of memory or output";
    case absl::StatusCode::kAborted: return "crash";
    default: return "other";
  }
}

}  // namespace graphnet

// The `graphnet` program: chooses the command, prints its error and sets the exit code. Each
// command has its own file.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/report.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/formats.h"
#include "graphnet/cli/tool.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/evaluate/export_onnx.h"
#include "graphnet/formats/formats.h"
#include "graphnet/ir/text/excerpt.h"

namespace {

constexpr int kBadInput = 2;

constexpr int kReaderIsGone = 128 + SIGPIPE;  // as in a shell

// If a standard file is closed, a file that is opened later would get its number, and output would
// go into it. This opens /dev/null for the closed ones.
void FillStandardFiles() {
  for (int fd = open("/dev/null", O_RDONLY); fd >= 0; fd = open("/dev/null", O_RDONLY)) {
    if (fd <= STDERR_FILENO) continue;
    close(fd);
    return;
  }
}

// Returns whether the standard output is a pipe whose reader has ended.
bool IsReaderGone() {
  pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

// Flushes the standard output and returns the exit code.
int Finish(int code) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  if (IsReaderGone()) return kReaderIsGone;
  graphnet::PrintError(absl::StrCat("cannot write the standard output",
                                    errno != 0 ? absl::StrCat(": ", std::strerror(errno)) : ""));
  return kBadInput;
}

void Print(const graphnet::Report& report, FILE* out) {
  const std::string text = graphnet::ReportText(report, out);
  std::fwrite(text.data(), 1, text.size(), out);
}

int Fail(const absl::Status& status) {
  if (graphnet::WantsJson()) {
    graphnet::Report report;
    report.Add("error", graphnet::ErrorJson(status));
    Print(report, stdout);
  }
  graphnet::PrintError(status.message());
  std::fputs(graphnet::ErrorExcerpt(status).c_str(), stderr);
  return kBadInput;
}

int Main(int argc, char** argv) {
  // `bazel run` changes the folder. Paths are relative to the folder of the user.
  if (const char* folder = std::getenv("BUILD_WORKING_DIRECTORY"); folder != nullptr) {
    if (chdir(folder) != 0) std::perror("graphnet: cannot go to BUILD_WORKING_DIRECTORY");
  }
  if (const absl::Status status = graphnet::RegisterToolFormats(); !status.ok())
    return Fail(status);
  graphnet::ReceiveInputNotes(graphnet::PrintNote);
  graphnet::Tool tool;
  if (const absl::Status status = argc > 1 ? tool.CheckName(argv[1]) : absl::OkStatus();
      !status.ok()) {
    graphnet::PrintError(status.message());
    return kBadInput;
  }
  if (const std::optional<int> code = tool.Parse(argc, argv)) return *code;
  const absl::StatusOr<graphnet::CommandResult> result = tool.Run();
  if (!result.ok()) return Fail(result.status());
  const absl::Status& error = result->error;
  if (result->report.has_value() && (error.ok() || !graphnet::WantsJson()))
    Print(*result->report, tool.has_output() ? stderr : stdout);
  std::fflush(stdout);
  std::fputs(result->aside.c_str(), stderr);
  return error.ok() ? result->code : Fail(error);
}

}  // namespace

int main(int argc, char** argv) {
  // Writing to a closed pipe, or beyond a limit of the shell, is a normal error, so that files that
  // are half written are removed.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  FillStandardFiles();
  int code = kBadInput;
  try {
    code = Main(argc, argv);
  } catch (const std::exception& error) {
    // Errors such as a lack of memory also print one line.
    graphnet::PrintError(graphnet::Printable(error.what(), 1000));
  }
  graphnet::CloseOnnxExporters();
  // Exit at once: everything is written, and LibTorch would take 80 ms to unregister its operators.
  std::_Exit(Finish(code));
}

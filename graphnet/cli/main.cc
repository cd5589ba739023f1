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
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/base/version.h"
#include "graphnet/base/wrapped_text.h"
#include "graphnet/cli/command.h"
#include "graphnet/cli/engine.h"
#include "graphnet/cli/examples.h"
#include "graphnet/cli/formats.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/messages.h"
#include "graphnet/cli/terminal.h"
#include "graphnet/evaluate/export_onnx.h"
#include "graphnet/ir/text/excerpt.h"

namespace {

constexpr int kBadInput = 2;

constexpr int kReaderIsGone = 128 + SIGPIPE;  // as in a shell

// The group of commands that the help does not list.
constexpr char kHidden[] = "";

struct Command {
  const char* group;
  void (*add)(CLI::App& app, graphnet::CommandRunner* run);
};

// Every command, in the order of the help.
constexpr Command kCommands[] = {
    {"Look at graphs", graphnet::RegisterShow},
    {"Look at graphs", graphnet::RegisterStats},
    {"Look at graphs", graphnet::RegisterShapes},
    {"Look at graphs", graphnet::RegisterFind},
    {"Look at graphs", graphnet::RegisterHash},
    {"Look at graphs", graphnet::RegisterDiff},
    {"Check", graphnet::RegisterCheck},
    {"Check", graphnet::RegisterLint},
    {"Change and convert", graphnet::RegisterConvert},
    {"Change and convert", graphnet::RegisterOpt},
    {"Change and convert", graphnet::RegisterPasses},
    {"Change and convert", graphnet::RegisterPaddleMap},
    {"Cut and join", graphnet::RegisterDecompose},
    {"Cut and join", graphnet::RegisterSubgraph},
    {"Cut and join", graphnet::RegisterCompose},
    {"Cut and join", graphnet::RegisterValidate},
    {"Cut and join", graphnet::RegisterRoundtrip},
    {"Cut and join", graphnet::RegisterShard},
    {"Programs", graphnet::RegisterExtract},
    {"Run", graphnet::RegisterRun},
    {"Run", graphnet::RegisterDiffRun},
    {"Judge compilers", graphnet::RegisterBackends},
    {"Judge compilers", graphnet::RegisterBench},
    {"Judge compilers", graphnet::RegisterScore},
    {"Judge compilers", graphnet::RegisterReduce},
    {"The tool", graphnet::RegisterCompletion},
    {"The tool", graphnet::RegisterMan},
    {kHidden, graphnet::RegisterWorker},
};

constexpr char kExitCodes[] =
    "Exit codes: 0 success, 1 a check failed or nothing was found, 2 an option is wrong or an "
    "input, "
    "even one of many, cannot be used, 141 the reader of the output has ended.";

// Wraps help to the width of the terminal. In a file or a pipe, lines are not wrapped.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    const std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
    return graphnet::IsTerminal(stdout) ? graphnet::WrapText(help, graphnet::TerminalWidth(stdout))
                                        : help;
  }
};

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

// Prints the report as JSON, or as text that fits the terminal.
void Print(const graphnet::Report& report, FILE* out) {
  const size_t width = graphnet::IsTerminal(out) ? graphnet::TerminalWidth(out) : 0;
  const std::string text = graphnet::WantsJson() ? report.ToJson().Dump() + "\n"
                                                 : report.ToText(width, graphnet::HasColours(out));
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

// An option that may be repeated takes one value each time. The next word is an operand.
void TakeOneValueEach(CLI::App* command) {
  for (CLI::Option* option : command->get_options()) {
    if (!option->get_positional()) option->allow_extra_args(false);
  }
  for (CLI::App* group : command->get_subcommands(nullptr)) TakeOneValueEach(group);
}

bool Given(const CLI::App& command, const char* flag) {
  const CLI::Option* option = command.get_option_no_throw(flag);
  return option != nullptr && option->count() > 0;
}

// The version of LibTorch comes from LibTorch itself, which shows that it works.
std::string Versions() {
  const auto engine = graphnet::OpenEngine();
  return absl::StrCat("graphnet ", graphnet::kVersion, "\nLibTorch ",
                      engine.ok() ? (*engine)->LibTorchVersion()
                                  : absl::StrCat("not found: ", engine.status().message()),
                      "\nprotobuf form ", graphnet::kProtobufVersion, ", .pt2 schema ",
                      graphnet::kPt2SchemaMajor);
}

int Main(int argc, char** argv) {
  // `bazel run` changes the folder. Paths are relative to the folder of the user.
  if (const char* folder = std::getenv("BUILD_WORKING_DIRECTORY"); folder != nullptr) {
    if (chdir(folder) != 0) std::perror("graphnet: cannot go to BUILD_WORKING_DIRECTORY");
  }
  if (const absl::Status status = graphnet::RegisterToolFormats(); !status.ok())
    return Fail(status);
  CLI::App app("Import, inspect, check, cut and convert computation graphs of PyTorch programs.",
               "graphnet");
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_all_flag("--help-all", "Print the help of every command");
  app.set_version_flag("--version", Versions);
  app.footer(absl::StrCat(graphnet::ExamplesText("show"),
                          "\nExamples of each command: graphnet COMMAND --help\n\n", kExitCodes));
  app.failure_message([](const CLI::App* failed, const CLI::Error& error) {
    std::string command;
    for (const CLI::App* parsed : failed->get_subcommands([](const CLI::App*) { return true; })) {
      if (parsed->parsed()) command = absl::StrCat(" ", parsed->get_name());
    }
    return absl::StrCat("graphnet", command, ": ", error.what(), "; see graphnet", command,
                        " --help\n");
  });
  graphnet::CommandRunner run;
  std::vector<absl::string_view> names;
  for (const Command& entry : kCommands) {
    entry.add(app, &run);
    CLI::App* command = app.get_subcommands(nullptr).back();
    command->group(entry.group);
    command->footer(absl::StrCat(graphnet::ExamplesText(command->get_name()), "\n\n", kExitCodes));
    TakeOneValueEach(command);
    names.emplace_back(command->get_name());
  }
  if (argc > 1 && argv[1][0] != '-' && !absl::c_linear_search(names, argv[1])) {
    const std::string hint = graphnet::NearMissHint(argv[1], names);
    graphnet::PrintError(absl::StrCat("there is no command ", graphnet::Printable(argv[1]),
                                      hint.empty() ? "; see graphnet --help" : hint));
    return kBadInput;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : kBadInput;
  }
  const CLI::App* command = app.get_subcommands().front();
  const bool is_taken =
      Given(*command, "--out") && command->get_option("--out")->as<std::string>() == "-";
  if (graphnet::WantsJson() && is_taken) {
    return Fail(absl::InvalidArgumentError("the standard output takes either --json or --out -"));
  }
  const absl::StatusOr<graphnet::CommandResult> result = run();
  if (!result.ok()) return Fail(result.status());
  const absl::Status& error = result->error;
  if (result->report.has_value() && (error.ok() || !graphnet::WantsJson()))
    Print(*result->report, is_taken ? stderr : stdout);
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

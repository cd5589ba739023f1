// The `graphnet` program: picks the command, prints its error, sets the exit
// code. What the commands do is in one file each.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
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
#include "graphnet/cli/check.h"
#include "graphnet/cli/command.h"
#include "graphnet/cli/compose.h"
#include "graphnet/cli/convert.h"
#include "graphnet/cli/decompose.h"
#include "graphnet/cli/diff_run.h"
#include "graphnet/cli/extract.h"
#include "graphnet/cli/lint.h"
#include "graphnet/cli/opt.h"
#include "graphnet/cli/roundtrip.h"
#include "graphnet/cli/run.h"
#include "graphnet/cli/shapes.h"
#include "graphnet/cli/show.h"
#include "graphnet/cli/stats.h"
#include "graphnet/cli/subgraph.h"
#include "graphnet/cli/validate.h"
#include "graphnet/text/excerpt.h"
#include "torch/version.h"

namespace {

constexpr int kBadInput = 2;

// Every command, in the order of the help.
constexpr std::pair<const char*, const char*> kGroups[] = {
    {"show", "Look at graphs"},
    {"stats", "Look at graphs"},
    {"shapes", "Look at graphs"},
    {"check", "Check"},
    {"lint", "Check"},
    {"convert", "Change and convert"},
    {"opt", "Change and convert"},
    {"passes", "Change and convert"},
    {"decompose", "Cut and join"},
    {"subgraph", "Cut and join"},
    {"compose", "Cut and join"},
    {"validate", "Cut and join"},
    {"roundtrip", "Cut and join"},
    {"extract", "Programs"},
    {"run", "Run"},
    {"diff-run", "Run"},
};

constexpr char kFooter[] =
    "Examples:\n"
    "  graphnet show samples/vit.pb\n"
    "  graphnet run samples/resnet.pt --input f32[8,3,64,64]\n"
    "  graphnet decompose resnet18 --pieces 4 && graphnet validate resnet18 --run\n"
    "  graphnet extract net.pt -o net --input f32[8,16] --explain --check\n\n"
    "Exit codes: 0 done, 1 a check failed, 2 input or options that cannot be used.";

int Main(int argc, char** argv) {
  // `bazel run` starts programs elsewhere; paths are meant from where the user is.
  if (const char* folder = std::getenv("BUILD_WORKING_DIRECTORY"); folder != nullptr) {
    if (chdir(folder) != 0) std::perror("graphnet: cannot go to BUILD_WORKING_DIRECTORY");
  }
  CLI::App app("Computation graphs of PyTorch: import, look at, check, cut and convert.",
               "graphnet");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Print the help of every command");
  app.set_version_flag("--version",
                       absl::StrCat("graphnet ", graphnet::kVersion, ", LibTorch ", TORCH_VERSION));
  app.footer(kFooter);
  app.failure_message([](const CLI::App* failed, const CLI::Error& error) {
    std::string command;
    for (const CLI::App* parsed : failed->get_subcommands([](const CLI::App*) { return true; })) {
      if (parsed->parsed()) command = absl::StrCat(" ", parsed->get_name());
    }
    return absl::StrCat("graphnet", command, ": ", error.what(), "; see graphnet", command,
                        " --help\n");
  });
  graphnet::CommandRunner run;
  graphnet::RegisterShow(app, &run);
  graphnet::RegisterStats(app, &run);
  graphnet::RegisterShapes(app, &run);
  graphnet::RegisterCheck(app, &run);
  graphnet::RegisterLint(app, &run);
  graphnet::RegisterConvert(app, &run);
  graphnet::RegisterOpt(app, &run);
  graphnet::RegisterPasses(app, &run);
  graphnet::RegisterRoundtrip(app, &run);
  graphnet::RegisterDecompose(app, &run);
  graphnet::RegisterCompose(app, &run);
  graphnet::RegisterSubgraph(app, &run);
  graphnet::RegisterValidate(app, &run);
  graphnet::RegisterExtract(app, &run);
  graphnet::RegisterRun(app, &run);
  graphnet::RegisterDiffRun(app, &run);
  std::vector<absl::string_view> names;
  for (const auto& [command, group] : kGroups) {
    app.get_subcommand(command)->group(group);
    names.push_back(command);
  }
  if (argc > 1 && argv[1][0] != '-' && !absl::c_linear_search(names, argv[1])) {
    const std::string hint = graphnet::NearMissHint(argv[1], names);
    std::fprintf(stderr, "graphnet: there is no command %s%s\n",
                 graphnet::Printable(argv[1]).c_str(),
                 hint.empty() ? "; see graphnet --help" : hint.c_str());
    return kBadInput;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : kBadInput;
  }
  const absl::StatusOr<int> code = run();
  if (code.ok()) return *code;
  std::fprintf(stderr, "graphnet: %s\n", std::string(code.status().message()).c_str());
  std::fputs(graphnet::ErrorExcerpt(code.status()).c_str(), stderr);
  return kBadInput;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const std::exception& error) {
    // Out of memory and the like: still one line.
    std::fprintf(stderr, "graphnet: %s\n", graphnet::Printable(error.what(), 1000).c_str());
    return kBadInput;
  }
}

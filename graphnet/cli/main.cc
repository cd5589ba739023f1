// The `graphnet` program: picks the command, prints its error, sets the exit
// code. What the commands do is in one file each.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "CLI/CLI.hpp"
#include "graphnet/base/status.h"
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

namespace {

constexpr int kBadInput = 2;

int Main(int argc, char** argv) {
  // `bazel run` starts programs elsewhere; paths are meant from where the user is.
  if (const char* folder = std::getenv("BUILD_WORKING_DIRECTORY"); folder != nullptr) {
    if (chdir(folder) != 0) std::perror("graphnet: cannot go to BUILD_WORKING_DIRECTORY");
  }
  CLI::App app("Computation graphs of PyTorch: import, look at, check, cut and convert.",
               "graphnet");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Print the help of every command");
  graphnet::CommandRunner run;
  graphnet::RegisterConvert(app, &run);
  graphnet::RegisterShow(app, &run);
  graphnet::RegisterStats(app, &run);
  graphnet::RegisterCheck(app, &run);
  graphnet::RegisterRoundtrip(app, &run);
  graphnet::RegisterDecompose(app, &run);
  graphnet::RegisterCompose(app, &run);
  graphnet::RegisterSubgraph(app, &run);
  graphnet::RegisterValidate(app, &run);
  graphnet::RegisterLint(app, &run);
  graphnet::RegisterOpt(app, &run);
  graphnet::RegisterPasses(app, &run);
  graphnet::RegisterExtract(app, &run);
  graphnet::RegisterRun(app, &run);
  graphnet::RegisterShapes(app, &run);
  graphnet::RegisterDiffRun(app, &run);
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

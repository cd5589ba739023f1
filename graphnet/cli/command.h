// A command of the tool is a subcommand of CLI11 that, if it is chosen, sets the function that does
// the work.
#ifndef GRAPHNET_CLI_COMMAND_H_
#define GRAPHNET_CLI_COMMAND_H_

#include <functional>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "graphnet/cli/call.h"

namespace graphnet {

// An error is printed as one line, and the tool exits with 2.
using CommandRunner = std::function<absl::StatusOr<CommandResult>()>;

// One function per command, in the file of its name. tool.cc arranges them in groups.
void RegisterBackends(CLI::App& app, CommandRunner* run);
void RegisterBench(CLI::App& app, CommandRunner* run);
void RegisterCheck(CLI::App& app, CommandRunner* run);
void RegisterCompletion(CLI::App& app, CommandRunner* run);
void RegisterCompose(CLI::App& app, CommandRunner* run);
void RegisterConvert(CLI::App& app, CommandRunner* run);
void RegisterDecompose(CLI::App& app, CommandRunner* run);
void RegisterDiff(CLI::App& app, CommandRunner* run);
void RegisterDiffRun(CLI::App& app, CommandRunner* run);
void RegisterExtract(CLI::App& app, CommandRunner* run);
void RegisterFind(CLI::App& app, CommandRunner* run);
void RegisterHash(CLI::App& app, CommandRunner* run);
void RegisterLint(CLI::App& app, CommandRunner* run);
void RegisterMan(CLI::App& app, CommandRunner* run);
void RegisterOpt(CLI::App& app, CommandRunner* run);
void RegisterPaddleMap(CLI::App& app, CommandRunner* run);
void RegisterPasses(CLI::App& app, CommandRunner* run);
void RegisterReduce(CLI::App& app, CommandRunner* run);
void RegisterRoundtrip(CLI::App& app, CommandRunner* run);
void RegisterRun(CLI::App& app, CommandRunner* run);
void RegisterScore(CLI::App& app, CommandRunner* run);
void RegisterShapes(CLI::App& app, CommandRunner* run);
void RegisterShard(CLI::App& app, CommandRunner* run);
void RegisterShow(CLI::App& app, CommandRunner* run);
void RegisterStats(CLI::App& app, CommandRunner* run);
void RegisterSubgraph(CLI::App& app, CommandRunner* run);
void RegisterValidate(CLI::App& app, CommandRunner* run);
void RegisterWorker(CLI::App& app, CommandRunner* run);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_COMMAND_H_

// `graphnet stats IN...`: how large inputs are and what they consist of.
#ifndef GRAPHNET_CLI_STATS_H_
#define GRAPHNET_CLI_STATS_H_

#include "CLI/CLI.hpp"
#include "graphnet/cli/command.h"

namespace graphnet {

void RegisterStats(CLI::App& app, CommandRunner* run);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_STATS_H_

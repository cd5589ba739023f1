// `graphnet opt IN --passes=… -o OUT`: rewrites samples; `graphnet passes`: what
// there is to do so.
#ifndef GRAPHNET_CLI_OPT_H_
#define GRAPHNET_CLI_OPT_H_

#include "CLI/CLI.hpp"
#include "graphnet/cli/command.h"

namespace graphnet {

void RegisterOpt(CLI::App& app, CommandRunner* run);
void RegisterPasses(CLI::App& app, CommandRunner* run);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_OPT_H_

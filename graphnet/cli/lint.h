// `graphnet lint IN`: what is wrong with samples though they are valid.
#ifndef GRAPHNET_CLI_LINT_H_
#define GRAPHNET_CLI_LINT_H_

#include "CLI/CLI.hpp"
#include "graphnet/cli/command.h"

namespace graphnet {

void RegisterLint(CLI::App& app, CommandRunner* run);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_LINT_H_

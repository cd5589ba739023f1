// `graphnet roundtrip IN -o DIR`: imports, cuts into a chain, writes, reads back
// and proves that the pieces are the whole.
#ifndef GRAPHNET_CLI_ROUNDTRIP_H_
#define GRAPHNET_CLI_ROUNDTRIP_H_

#include "CLI/CLI.hpp"
#include "graphnet/cli/command.h"

namespace graphnet {

void RegisterRoundtrip(CLI::App& app, CommandRunner* run);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_ROUNDTRIP_H_

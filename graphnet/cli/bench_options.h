// Options of commands that run samples by backends.
#ifndef GRAPHNET_CLI_BENCH_OPTIONS_H_
#define GRAPHNET_CLI_BENCH_OPTIONS_H_

#include "CLI/CLI.hpp"
#include "graphnet/evaluate/bench.h"

namespace graphnet {

// --exec, --exec-reads.
void AddExecOptions(CLI::App* command, BenchSettings* settings);
// Whether it is a number: CLI::Range lets nan through.
CLI::Validator IsNumber();
// --memory.
void AddMemoryOption(CLI::App* command, BenchRun* run);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_BENCH_OPTIONS_H_

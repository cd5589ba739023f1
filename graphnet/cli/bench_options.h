// Options of commands that run samples on backends.
#ifndef GRAPHNET_CLI_BENCH_OPTIONS_H_
#define GRAPHNET_CLI_BENCH_OPTIONS_H_

#include "CLI/CLI.hpp"
#include "graphnet/evaluate/bench.h"

namespace graphnet {

// Adds --exec and --exec-reads.
void AddExecOptions(CLI::App* command, BenchSettings* settings);
// Accepts numbers but not nan, which CLI::Range lets through.
CLI::Validator IsNumber();
// Adds --memory.
void AddMemoryOption(CLI::App* command, BenchRun* run);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_BENCH_OPTIONS_H_

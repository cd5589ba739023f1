// Options of commands that run samples on backends.
#ifndef GRAPHNET_EVALUATE_COMMANDS_BENCH_OPTIONS_H_
#define GRAPHNET_EVALUATE_COMMANDS_BENCH_OPTIONS_H_

#include "graphnet/command/command_line.h"
#include "graphnet/evaluate/bench.h"

namespace graphnet {

// Adds --exec and --exec-reads.
void AddExecOptions(CommandLine& command, BenchSettings* settings);
// Adds --min-speedup, which makes a comparison of logs (evaluate/log_change.h) end with 1.
Option AddMinSpeedupOption(CommandLine& command, double* min_speedup);
// Adds --memory.
void AddMemoryOption(CommandLine& command, BenchRun* run);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_COMMANDS_BENCH_OPTIONS_H_

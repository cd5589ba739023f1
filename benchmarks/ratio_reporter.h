// Runs the registered benchmarks and prints, below their table, the ratios that docs/benchmarks.md
// quotes. Each ratio compares a benchmark with a baseline of the same run.
#ifndef GRAPHNET_BENCHMARKS_RATIO_REPORTER_H_
#define GRAPHNET_BENCHMARKS_RATIO_REPORTER_H_

#include <string>
#include <vector>

namespace graphnet {

struct Ratio {
  std::string title;     // "import against torch::jit::Parser"
  std::string name;      // name of the benchmark
  std::string baseline;  // name of the benchmark to compare with
  std::string counter;   // counter to divide; higher is better
  double wanted;         // required minimum; 0 if the ratio is only reported
};

// Initialises Google Benchmark, runs all benchmarks and prints. Returns the exit code, which is 1
// if a required ratio is missed or a benchmark failed.
int RunBenchmarks(int argc, char** argv, const std::vector<Ratio>& ratios);

}  // namespace graphnet

#endif  // GRAPHNET_BENCHMARKS_RATIO_REPORTER_H_

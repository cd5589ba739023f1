// Runs the registered benchmarks and prints, below their table, the ratios that
// docs/benchmarks.md quotes: each a named benchmark against a named baseline of
// the same run.
#ifndef GRAPHNET_BENCHMARKS_RATIO_REPORTER_H_
#define GRAPHNET_BENCHMARKS_RATIO_REPORTER_H_

#include <string>
#include <vector>

namespace graphnet {

struct Ratio {
  std::string title;     // "import against torch::jit::Parser"
  std::string name;      // benchmark
  std::string baseline;  // benchmark
  std::string counter;   // counter to divide; higher is better
  double wanted;         // the least ratio we want; 0: only reported
};

// Initialises Google Benchmark, runs, prints. Returns the exit code: 1 if a
// wanted ratio is missed or a benchmark failed.
int RunBenchmarks(int argc, char** argv, const std::vector<Ratio>& ratios);

}  // namespace graphnet

#endif  // GRAPHNET_BENCHMARKS_RATIO_REPORTER_H_

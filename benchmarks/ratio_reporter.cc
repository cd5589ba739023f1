#include "benchmarks/ratio_reporter.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "benchmark/benchmark.h"

namespace graphnet {
namespace {

// Keeps the best value of each counter over the repetitions of a benchmark, which comes from the
// run that was disturbed least.
class CollectingReporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.error_occurred) failed = true;
      if (run.run_type != Run::RT_Iteration) continue;
      for (const auto& [name, counter] : run.counters) {
        double& best = counters[run.run_name.function_name + run.run_name.args][name];
        best = std::max(best, counter.value);
      }
    }
    ConsoleReporter::ReportRuns(runs);
  }
  std::map<std::string, std::map<std::string, double>> counters;
  bool failed = false;
};

}  // namespace

int RunBenchmarks(int argc, char** argv, const std::vector<Ratio>& ratios) {
  // Run several short turns, one benchmark after the other, so that a moment in which the machine
  // is busy affects all alike. Options of the user come later and win.
  std::vector<char*> arguments(argv, argv + argc);
  std::string defaults[] = {"--benchmark_repetitions=5", "--benchmark_min_time=0.3",
                            "--benchmark_enable_random_interleaving=true"};
  for (std::string& flag : defaults) arguments.insert(arguments.begin() + 1, flag.data());
  argc = static_cast<int>(arguments.size());
  argv = arguments.data();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  CollectingReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  int code = reporter.failed ? 1 : 0;
  std::printf("\n%-62s %12s %12s %8s %8s\n", "ratio", "value", "baseline", "ratio", "wanted");
  for (const Ratio& ratio : ratios) {
    const auto a = reporter.counters.find(ratio.name);
    const auto b = reporter.counters.find(ratio.baseline);
    if (a == reporter.counters.end() || b == reporter.counters.end()) continue;  // a filter is set
    const double value = a->second[ratio.counter];
    const double baseline = b->second[ratio.counter];
    const double quotient = baseline > 0 ? value / baseline : 0;
    std::printf("%-62s %12.4g %12.4g %8.2f ", ratio.title.c_str(), value, baseline, quotient);
    if (ratio.wanted > 0) {
      std::printf(">= %5.2f%s\n", ratio.wanted, quotient < ratio.wanted ? "  MISSED" : "");
      if (quotient < ratio.wanted) code = 1;
    } else {
      std::printf("%8s\n", "-");
    }
  }
  return code;
}

}  // namespace graphnet

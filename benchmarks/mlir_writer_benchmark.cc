// Measures the cost of writing MLIR for each node: mlir_writer_benchmark SAMPLE.gn…. The samples
// are graphs of ATen calls with known shapes. mlir_benchmark.py compares it with the tool that
// reads the text.
#include <memory>
#include <string>
#include <utility>

#include "benchmark/benchmark.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/formats/mlir/exporter.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/text/parser.h"

namespace graphnet {
namespace {

void BM_Write(benchmark::State& state, const Module& module) {
  for (auto _ : state) {
    const auto program = ExportMlir(module);
    if (!program.ok()) {
      state.SkipWithError(std::string(program.status().message()).c_str());
      return;
    }
    benchmark::DoNotOptimize(program->text.data());
  }
  const auto nodes = static_cast<double>(module.main()->num_nodes());
  state.counters["us/node"] =
      benchmark::Counter(nodes * static_cast<double>(state.iterations()) / 1e6,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const auto text = ReadFile(argv[i], kMaxTextFileBytes);
    if (!text.ok()) return 1;
    auto sample = ParseSample(*text, argv[i]);
    if (!sample.ok()) return 1;
    const std::shared_ptr<Module> module = std::move(sample->module);
    const std::string nodes = std::to_string(module->main()->num_nodes());
    benchmark::RegisterBenchmark(("write/" + nodes).c_str(), [module](auto& state) {
      BM_Write(state, *module);
    })->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace graphnet

int main(int argc, char** argv) { return graphnet::Main(argc, argv); }

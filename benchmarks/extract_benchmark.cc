// Measures the cost of capturing a program and of a call through the cache, with sizes and weights
// as in samples/, on one thread.
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "ATen/Parallel.h"
#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "benchmarks/ratio_reporter.h"
#include "c10/core/InferenceMode.h"
#include "graphnet/extract/cache.h"
#include "graphnet/extract/capture.h"
#include "graphnet/extract/stitched.h"
#include "torch/csrc/jit/api/module.h"
#include "torch/csrc/jit/runtime/graph_executor.h"

namespace graphnet {
namespace {

using c10::IValue;
using Clock = std::chrono::steady_clock;

constexpr int kLayers = 100;

// A program with 3 operators a layer, on small or larger tensors.
torch::jit::Module MakeModule() {
  torch::jit::Module module("Program");
  module.register_parameter("weight", at::randn({64, 64}), false);
  std::string source = "def forward(self, x):\n";
  for (int i = 0; i < kLayers; ++i)
    absl::StrAppend(&source, "    x = torch.relu(torch.matmul(x, self.weight)) + ", i, "\n");
  module.define(source + "    return x\n");
  return module;
}

std::vector<IValue> Inputs(int64_t rows) { return {at::randn({rows, 64})}; }

void Report(benchmark::State& state) {
  state.counters["runs_per_s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void Spin(double microseconds) {
  const auto end = Clock::now() + std::chrono::duration<double, std::micro>(microseconds);
  while (Clock::now() < end) {
  }
}

// Measures the budget of capturing: three eager runs and 20 us a node.
void BM_CaptureBudget(benchmark::State& state) {
  torch::jit::Module module = MakeModule();
  const std::vector<IValue> inputs = Inputs(state.range(0));
  c10::InferenceMode inference;
  for (auto _ : state) {
    for (int i = 0; i < 3; ++i) benchmark::DoNotOptimize(module.forward(inputs));
    Spin(20.0 * 3 * kLayers);
  }
  Report(state);
}
void BM_Eager(benchmark::State& state) {
  torch::jit::Module module = MakeModule();
  const std::vector<IValue> inputs = Inputs(state.range(0));
  c10::InferenceMode inference;
  for (auto _ : state) benchmark::DoNotOptimize(module.forward(inputs));
  Report(state);
}
void BM_Capture(benchmark::State& state) {
  torch::jit::Module module = MakeModule();
  const std::vector<IValue> inputs = Inputs(state.range(0));
  for (auto _ : state) {
    const absl::StatusOr<Capture> capture = CaptureProgram(module, inputs, {.statistics = false});
    if (!capture.ok() || capture->manifest.subgraphs.at(0).num_calls != 3 * kLayers)
      state.SkipWithError("not captured");
  }
  Report(state);
}
void BM_CacheHit(benchmark::State& state) {
  CaptureCache cache(MakeModule());
  const std::vector<IValue> inputs = Inputs(state.range(0));
  if (!cache.Call(inputs).ok()) state.SkipWithError("not captured");
  for (auto _ : state) benchmark::DoNotOptimize(cache.Call(inputs));
  if (cache.counters().captures != 1) state.SkipWithError("no hits");
  Report(state);
}

void BM_FiveMicroseconds(benchmark::State& state) {
  for (auto _ : state) Spin(5);
  Report(state);
}
// Checks the guards of a list of 50 matrices: 6 for each, and two more.
void BM_Guards(benchmark::State& state) {
  torch::jit::Module module("Program");
  module.define("def forward(self, xs: List[Tensor]):\n    return xs[0] + 1\n");
  c10::List<at::Tensor> list;
  for (int i = 0; i < 50; ++i) list.push_back(at::ones({2, 3}));
  const std::vector<IValue> inputs = {list};
  absl::StatusOr<Capture> capture = CaptureProgram(module, inputs, {.statistics = false});
  std::vector<StitchedProgram::Subgraph> subgraphs;
  for (const auto& subgraph : capture->subgraphs)
    subgraphs.push_back({subgraph.module.get(), subgraph.attributes});
  const auto program = StitchedProgram::Make(capture->manifest, subgraphs, capture->constants);
  if (!program.ok() || (*program)->num_guards() < 300) {
    state.SkipWithError("fewer guards");
    return;
  }
  for (auto _ : state) {
    if (!(*program)->CheckGuards(inputs).ok()) state.SkipWithError("refused");
  }
  Report(state);
  state.counters["guards"] = static_cast<double>((*program)->num_guards());
}

BENCHMARK(BM_CaptureBudget)->Arg(1)->Arg(256)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Eager)->Arg(1)->Arg(256)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Capture)->Arg(1)->Arg(256)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_CacheHit)->Arg(1)->Arg(256)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_FiveMicroseconds)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Guards)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace graphnet

int main(int argc, char** argv) {
  at::set_num_threads(1);
  torch::jit::setGraphExecutorOptimize(false);
  std::vector<graphnet::Ratio> ratios;
  for (const char* rows : {"1", "256"}) {
    const auto name = [&](const char* benchmark) { return absl::StrCat(benchmark, rows); };
    ratios.push_back({absl::StrCat("capture / three eager runs and 20 us a node, ", rows, " rows"),
                      name("BM_Capture"), name("BM_CaptureBudget"), "runs_per_s", 1});
    ratios.push_back({absl::StrCat("capture / eager, ", rows, " rows"), name("BM_Capture"),
                      name("BM_Eager"), "runs_per_s", 0});
    ratios.push_back({absl::StrCat("cache hit / eager, ", rows, " rows"), name("BM_CacheHit"),
                      name("BM_Eager"), "runs_per_s", 0.5});
  }
  ratios.push_back({"300 guards / 5 us", "BM_Guards", "BM_FiveMicroseconds", "runs_per_s", 1});
  return graphnet::RunBenchmarks(argc, argv, ratios);
}

// Measures the cost for each node on synthetic graphs of 10^3 to 10^6 nodes. It should not grow.
#include <memory>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/ratio_reporter.h"
#include "graphnet/formats/protobuf/sample_proto.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"

namespace graphnet {
namespace {

// Makes a chain of residual blocks, each with four operators, constants included.
std::unique_ptr<Module> MakeChain(int64_t nodes) {
  auto module = std::make_unique<Module>();
  Graph* graph = module->AddGraph("forward");
  Node* x = graph->Placeholder("x");
  Node* weight = graph->Placeholder("weight");
  while (static_cast<int64_t>(graph->num_nodes()) + 5 <= nodes) {
    const Argument one[] = {1, 1};
    Node* conv = graph->CallFunction(
        "torch.conv2d", {x, weight, Argument(), Argument::Tuple(one), Argument::Tuple(one), 1});
    const KwArg inplace[] = {{"inplace", false}};
    Node* relu = graph->CallFunction("torch.nn.functional.relu", {conv}, inplace);
    Node* view = graph->CallMethod("view", {relu, -1, 64});
    x = graph->CallFunction("operator.add", {view, x});
  }
  graph->Output(x);
  return module;
}

void SetCost(benchmark::State& state) {
  const double nodes =
      static_cast<double>(state.range(0)) * static_cast<double>(state.iterations());
  state.counters["ns/node"] =
      benchmark::Counter(nodes / 1e9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["Mnodes/s"] = benchmark::Counter(nodes / 1e6, benchmark::Counter::kIsRate);
}

void BM_build(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(MakeChain(state.range(0)));
  SetCost(state);
}

void BM_print(benchmark::State& state) {
  const auto module = MakeChain(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(PrintModule(*module));
  SetCost(state);
}

void BM_parse(benchmark::State& state) {
  const std::string text = PrintModule(*MakeChain(state.range(0)));
  ParseOptions options;
  options.max_bytes = text.size();
  for (auto _ : state) {
    const auto module = ParseModule(text, "chain", options);
    if (!module.ok()) state.SkipWithError(std::string(module.status().message()).c_str());
  }
  SetCost(state);
}

void BM_serialize(benchmark::State& state) {
  Sample sample;
  sample.name = "chain";
  sample.module = MakeChain(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(SerializeSample(sample));
  SetCost(state);
}

void BM_deserialize(benchmark::State& state) {
  Sample sample;
  sample.name = "chain";
  sample.module = MakeChain(state.range(0));
  const std::string bytes = SerializeSample(sample).value();
  for (auto _ : state) benchmark::DoNotOptimize(DeserializeSample(bytes, "chain"));
  SetCost(state);
}

// Replaces one value by another that all other nodes use, and back.
void BM_replace_all_uses(benchmark::State& state) {
  Module module;
  Graph* graph = module.AddGraph("forward");
  Node* x = graph->Placeholder("x");
  Node* y = graph->Placeholder("y");
  for (int64_t i = 0; i < state.range(0); ++i) graph->CallFunction("torch.relu", {x});
  for (auto _ : state) {
    x->ReplaceAllUsesWith(y);
    std::swap(x, y);
  }
  SetCost(state);
}

void BM_erase_every_other(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    Module module;
    Graph* graph = module.AddGraph("forward");
    Node* x = graph->Placeholder("x");
    for (int64_t i = 0; i < state.range(0); ++i) graph->CallFunction("torch.relu", {x});
    state.ResumeTiming();
    bool erase = false;
    for (Node* node : graph->nodes()) {
      if (node->is_placeholder()) continue;
      if (erase) graph->EraseNode(node);
      erase = !erase;
    }
  }
  SetCost(state);
}

#define SCALING(name) \
  BENCHMARK(name)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond)
SCALING(BM_build);
SCALING(BM_print);
SCALING(BM_parse);
SCALING(BM_serialize);
SCALING(BM_deserialize);
SCALING(BM_replace_all_uses);
SCALING(BM_erase_every_other);

}  // namespace
}  // namespace graphnet

int main(int argc, char** argv) {
  // Linear means that a node of the largest graph costs at most a few times as much as one of the
  // smallest, which fits the cache.
  std::vector<graphnet::Ratio> ratios;
  for (const char* name : {"BM_build", "BM_print", "BM_parse", "BM_serialize", "BM_deserialize",
                           "BM_replace_all_uses", "BM_erase_every_other"}) {
    ratios.push_back({std::string(name + 3) + ": nodes/s at 10^6 / at 10^3",
                      std::string(name) + "1000000", std::string(name) + "1000", "Mnodes/s", 0});
  }
  return graphnet::RunBenchmarks(argc, argv, ratios);
}

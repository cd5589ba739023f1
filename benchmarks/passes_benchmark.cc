// Measures the cost of every pass for each node on synthetic graphs of 10^3 to 10^5 nodes. It
// should not grow.
#include <memory>
#include <string>

#include "benchmark/benchmark.h"
#include "graphnet/ir/module.h"
#include "graphnet/paddle/to_paddle.h"  // the pass to-paddle
#include "graphnet/passes/pipeline.h"
#include "graphnet/passes/registry.h"

namespace graphnet {
namespace {

// Makes blocks with work for every pass: private and public calls, keywords, a dropout without
// effect, equal masks, arithmetic on constants, a batch norm, calls that undo each other, a device,
// and an unused value.
std::unique_ptr<Module> MakeBlocks(int64_t nodes) {
  auto module = std::make_unique<Module>();
  Graph* graph = module->AddGraph("forward");
  Node* x = graph->Placeholder("x");
  Node* weight = graph->Placeholder("weight");
  Node* mean = graph->Placeholder("mean");
  Node* variance = graph->Placeholder("variance");
  while (static_cast<int64_t>(graph->num_nodes()) + 15 <= nodes) {
    Node* linear = graph->CallFunction("torch._C._nn.linear", {x, weight, Argument()});
    const KwArg approximate[] = {{"approximate", "tanh"}};
    Node* gelu = graph->CallFunction("torch._C._nn.gelu", {linear}, approximate);
    Node* dropout = graph->CallFunction("torch.nn.functional.dropout", {gelu, 0.1, false, false});
    const KwArg dim[] = {{"dim", -1}};
    Node* softmax = graph->CallFunction("torch.nn.functional.softmax", {dropout}, dim);
    Node* there = graph->CallMethod("transpose", {softmax, 0, 1});
    Node* back = graph->CallMethod("transpose", {there, 0, 1});
    Node* mask = graph->CallFunction("torch.ne", {x, 0});
    Node* again = graph->CallFunction("torch.ne", {x, 0});
    Node* both = graph->CallFunction("torch.logical_and", {mask, again});
    Node* size = graph->CallFunction("operator.mul", {2, 4});
    Node* view = graph->CallMethod("view", {back, -1, size});
    Node* norm =
        graph->CallFunction("torch.nn.functional.batch_norm",
                            {view, mean, variance, Argument(), Argument(), false, 0.1, 1e-5});
    const KwArg device[] = {{"device", Device{DeviceType::kCuda, 0}}};
    graph->CallFunction("torch.zeros", {size}, device);
    x = graph->CallFunction("torch.where", {both, norm, x});
  }
  graph->Output(Argument::Tuple({x}));
  return module;
}

// Makes blocks that write to a value, through a view, and through a view of a view that is read
// again.
std::unique_ptr<Module> MakeWrites(int64_t nodes) {
  auto module = std::make_unique<Module>();
  Graph* graph = module->AddGraph("forward");
  Node* x = graph->Placeholder("x");
  while (static_cast<int64_t>(graph->num_nodes()) + 10 <= nodes) {
    Node* value = graph->CallFunction("torch.mul", {x, 2});
    const KwArg inplace[] = {{"inplace", true}};
    Node* relu = graph->CallFunction("torch.nn.functional.relu", {value}, inplace);
    Node* turned = graph->CallMethod("transpose", {relu, 0, 1});
    Node* part = graph->CallMethod("select", {turned, 0, 0});
    Node* more = graph->CallFunction("operator.iadd", {part, 1});
    graph->CallFunction("operator.setitem", {turned, 0, more});
    Node* read = graph->CallFunction("torch.exp", {turned});
    graph->CallMethod("copy_", {turned, read});
    x = graph->CallFunction("torch.add", {value, x});
  }
  graph->Output(Argument::Tuple({x}));
  return module;
}

void BM_pass(benchmark::State& state, const std::string& text) {
  const auto original =
      text == "functionalize" ? MakeWrites(state.range(0)) : MakeBlocks(state.range(0));
  const auto pipeline = ParsePipeline(text);
  if (!pipeline.ok()) {
    state.SkipWithError(std::string(pipeline.status().message()).c_str());
    return;
  }
  for (auto _ : state) {
    state.PauseTiming();
    std::unique_ptr<Module> module = original->Clone();
    state.ResumeTiming();
    const auto results = RunPipeline(*pipeline, module.get());
    if (!results.ok()) {
      state.SkipWithError(std::string(results.status().message()).c_str());
      break;
    }
    state.PauseTiming();
    module.reset();
    state.ResumeTiming();
  }
  const double nodes =
      static_cast<double>(state.range(0)) * static_cast<double>(state.iterations());
  state.counters["ns/node"] =
      benchmark::Counter(nodes / 1e9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void Register() {
  for (const Pass& pass : AllPasses()) {
    std::string text(pass.name());
    if (pass.name() == "rewrite") continue;  // simplify is the same with its own rules.
    if (pass.name() == "change-device") text += "{to=cpu}";
    if (pass.name() == "change-dtype") text += "{to=bf16}";
    if (pass.name() == "check-stable") text += "{allow=linear+gelu}";
    benchmark::RegisterBenchmark(("pass/" + std::string(pass.name())).c_str(),
                                 [text](benchmark::State& state) { BM_pass(state, text); })
        ->RangeMultiplier(10)
        ->Range(1000, 100000)
        ->Unit(benchmark::kMillisecond);
  }
}

}  // namespace
}  // namespace graphnet

int main(int argc, char** argv) {
  graphnet::Register();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

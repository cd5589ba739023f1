// Measures the cost of the vmap passes for each node on graphs of 10^3 to 10^5 nodes with a nest of
// four levels every 30 nodes. It should not grow.
#include <cstdint>
#include <memory>

#include "benchmark/benchmark.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/vmap/expand_vmap.h"
#include "graphnet/passes/vmap/flatten_vmap.h"
#include "graphnet/passes/vmap/revert_vmap.h"

namespace graphnet {
namespace {

// Makes attention masks as tracers record them, one after the other.
std::unique_ptr<Module> MakeFlat(int64_t nodes) {
  auto module = std::make_unique<Module>();
  Graph* graph = module->AddGraph("forward");
  Node* x = graph->Placeholder("x");
  TensorMeta meta;
  meta.dtype = DType::kInt64;
  meta.has_shape = true;
  const Dim shape[] = {7};
  meta.shape = shape;
  x->set_meta(module->InternValueMeta(meta));
  Node* sum = x;
  while (static_cast<int64_t>(graph->num_nodes()) < nodes) {
    Node* children[4];
    for (int level = 1; level <= 4; ++level) {
      graph->CallFunction("torch._functorch.predispatch.lazy_load_decompositions", {});
      graph->CallFunction("torch._functorch.predispatch._vmap_increment_nesting", {7, "error"});
      children[level - 1] =
          graph->CallFunction("torch._functorch.predispatch._add_batch_dim", {x, 0, level});
    }
    Node* le = graph->CallMethod("le", {children[3], children[2]});
    Node* gt = graph->CallMethod("gt", {children[3], children[0]});
    Node* y = graph->CallMethod("__and__", {le, gt});
    for (int level = 4; level >= 1; --level) {
      y = graph->CallFunction("torch._functorch.predispatch._remove_batch_dim", {y, level, 7, 0});
      graph->CallFunction("torch._functorch.predispatch._vmap_decrement_nesting", {});
    }
    Node* relu = graph->CallFunction("torch.relu", {y});
    sum = graph->CallFunction("operator.add", {relu, sum});
  }
  graph->Output(sum);
  return module;
}

template <typename Pass>
void Measure(benchmark::State& state, const Module& module, Pass&& pass) {
  for (auto _ : state) {
    state.PauseTiming();
    auto copy = module.Clone();
    state.ResumeTiming();
    benchmark::DoNotOptimize(pass(copy.get()));
    state.PauseTiming();
    copy.reset();
    state.ResumeTiming();
  }
  const double nodes =
      static_cast<double>(state.range(0)) * static_cast<double>(state.iterations());
  state.counters["ns/node"] =
      benchmark::Counter(nodes / 1e9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void BM_revert(benchmark::State& state) {
  Measure(state, *MakeFlat(state.range(0)), [](Module* module) { return *RevertVmap(module); });
}
void BM_flatten(benchmark::State& state) {
  const auto module = MakeFlat(state.range(0));
  if (!*RevertVmap(module.get())) state.SkipWithError("nothing to revert");
  Measure(state, *module, [](Module* m) { return *FlattenVmap(m); });
}
void BM_expand(benchmark::State& state) {
  const auto module = MakeFlat(state.range(0));
  if (!*RevertVmap(module.get())) state.SkipWithError("nothing to revert");
  Measure(state, *module, [](Module* m) {
    PassRun run;
    return *ExpandVmap(m, run);
  });
}
BENCHMARK(BM_revert)->Arg(1000)->Arg(10000)->Arg(100000);
BENCHMARK(BM_flatten)->Arg(1000)->Arg(10000)->Arg(100000);
BENCHMARK(BM_expand)->Arg(1000)->Arg(10000)->Arg(100000);

}  // namespace
}  // namespace graphnet

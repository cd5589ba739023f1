// Measures time and peak memory of whole models at batch 1 on one thread: the graph against the
// same ATen calls written by hand (models.h). With a sample as argument, also measures Compile on
// it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "ATen/ATen.h"
#include "ATen/Parallel.h"
#include "benchmarks/models.h"
#include "c10/core/CPUAllocator.h"
#include "c10/core/InferenceMode.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/libtorch.h"
#include "graphnet/interp/executable.h"

namespace graphnet {
namespace {

// Counts the memory that is allocated in addition to live memory.
class CountingAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, Free, c10::Device(c10::kCPU)};
    void* const data = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (data == nullptr) throw std::bad_alloc();
    sizes[data] = bytes;
    alive += bytes;
    peak = std::max(peak, alive);
    return {data, data, Free, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return Free; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
  void Start() {
    peak = alive;
    start = alive;
  }

  static inline size_t alive = 0, peak = 0, start = 0;

 private:
  static void Free(void* data) {
    if (data == nullptr) return;
    const auto it = sizes.find(data);
    alive -= it->second;
    sizes.erase(it);
    std::free(data);
  }

  static inline std::unordered_map<void*, size_t> sizes;
};

double Milliseconds(const std::function<void()>& fn) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  fn();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Prints a row and returns whether it meets the requirement.
template <typename AtenModel, typename GraphModel>
bool Compare(const char* name, CountingAllocator* allocator, const at::Tensor& input,
             AtenModel model, GraphModel build) {
  AtenBackend aten;
  at::Tensor expected = model(aten, input);
  Module module;
  Graph* graph = module.AddGraph("forward");
  GraphBackend builder(graph);
  Node* const x = graph->Placeholder("x");
  const Argument result[] = {build(builder, x)};
  graph->Output(Argument::Tuple(result));
  auto executable = Compile(module);
  if (!executable.ok()) {
    std::fprintf(stderr, "%s: %s\n", name, std::string(executable.status().message()).c_str());
    return false;
  }
  std::vector<c10::IValue> inputs = {input};
  // Placeholders are in the order of their first use.
  inputs.insert(inputs.end(), aten.parameters().begin(), aten.parameters().end());
  const auto by_hand = [&] {
    aten.Start();
    expected = at::Tensor();
    expected = model(aten, input);
  };
  std::vector<c10::IValue> actual;
  const auto by_graph = [&] {
    actual.clear();
    actual = *(*executable)->Run(inputs);
  };
  double hand_ms = std::numeric_limits<double>::infinity(), graph_ms = hand_ms;
  size_t hand_peak = 0, graph_peak = 0;
  for (int turn = 0; turn < 15; ++turn) {
    allocator->Start();
    hand_ms = std::min(hand_ms, Milliseconds(by_hand));
    hand_peak = allocator->peak - allocator->start;
    allocator->Start();
    graph_ms = std::min(graph_ms, Milliseconds(by_graph));
    graph_peak = allocator->peak - allocator->start;
  }
  const bool equal = at::equal(expected, actual[0].toTensor());
  const double percent = 100 * (graph_ms / hand_ms - 1);
  std::printf("%-10s %6zu %10.2f %10.2f %+8.2f %% %10.2f %10.2f   %s\n", name,
              (*executable)->num_instructions(), hand_ms, graph_ms, percent,
              static_cast<double>(hand_peak) / 1e6, static_cast<double>(graph_peak) / 1e6,
              equal ? "bit-equal" : "DIFFERENT");
  return equal && percent <= 3 && graph_peak <= hand_peak;
}

bool CompileSample(const std::string& path) {
  UseLibTorch();  // to read TorchScript
  const absl::StatusOr<Sample> sample = Load(path);
  if (!sample.ok()) {
    std::fprintf(stderr, "%s\n", std::string(sample.status().message()).c_str());
    return false;
  }
  double first = 0, best = std::numeric_limits<double>::infinity();
  bool ok = true;
  for (int turn = 0; turn < 10; ++turn) {
    const double ms = Milliseconds([&] { ok &= Compile(*sample->module).ok(); });
    if (turn == 0) first = ms;
    best = std::min(best, ms);
  }
  std::printf("Compile of %s, %zu nodes: %.1f ms, the first time %.1f ms\n", sample->name.c_str(),
              sample->module->num_nodes(), best, first);
  return ok && best < 50;
}

int Run(const char* sample) {
  at::set_num_threads(1);
  CountingAllocator allocator;
  c10::SetCPUAllocator(&allocator, /*priority=*/100);
  c10::InferenceMode inference;
  at::manual_seed(0);
  const at::Tensor image = at::randn({1, 3, 224, 224});
  const at::Tensor ids = at::randint(1000, {1, 128}, at::kLong);
  std::printf("%-10s %6s %10s %10s %10s %10s %10s\n", "", "nodes", "aten ms", "graph ms", "graph",
              "aten MB", "graph MB");
  bool good = true;
  good &= Compare("ResNet-18", &allocator, image, ResNet18<AtenBackend>, ResNet18<GraphBackend>);
  good &= Compare("ViT-B/16", &allocator, image, VitBase<AtenBackend>, VitBase<GraphBackend>);
  good &= Compare("BERT-base", &allocator, ids, BertBase<AtenBackend>, BertBase<GraphBackend>);
  if (sample != nullptr) good &= CompileSample(sample);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace graphnet

int main(int argc, char** argv) { return graphnet::Run(argc > 1 ? argv[1] : nullptr); }

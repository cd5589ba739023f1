// Measures the cost of running a node beyond the ATen call that it stands for.
//
// Each case is one operator on tiny tensors, kNodes times in a row, run
//
//   aten         by a loop of the ATen C++ call, written by hand
//   graphnet     as a graph, by Executable::Run
//   torchscript  as the same graph, by TorchScript's interpreter
//
// All run in inference mode on one thread, and all return all results; otherwise TorchScript would
// leave calls out. Its optimisations are off, since they would merge equal calls. The table shows
// nanoseconds a node; the overhead is the difference to aten.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ATen.h"
#include "ATen/Parallel.h"
#include "c10/core/InferenceMode.h"
#include "graphnet/formats/torchscript/exporter.h"
#include "graphnet/interp/executable.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ops/lowering.h"
#include "torch/csrc/jit/runtime/graph_executor.h"
#include "torch/csrc/jit/serialization/import.h"

namespace graphnet {
namespace {

constexpr int kNodes = 200;

// The operands have these shapes: x, y [4,4]; image [1,4,8,8]; kernel [4,4,3,3]; scale [4];
// index int64[4]; heads [1,2,4,8].
enum Operand { kX, kY, kImage, kKernel, kScale, kIndex, kHeads, kNumOperands };
constexpr const char* kOperandNames[] = {"x", "y", "image", "kernel", "scale", "index", "heads"};

std::vector<at::Tensor> MakeOperands() {
  at::manual_seed(0);
  return {at::randn({4, 4}), at::randn({4, 4}), at::randn({1, 4, 8, 8}), at::randn({4, 4, 3, 3}),
          at::rand({4}),     at::arange(4),     at::randn({1, 2, 4, 8})};
}

struct Case {
  const char* name;
  std::function<Node*(Graph*, const std::vector<Node*>&)> node;
  std::function<at::Tensor(const std::vector<at::Tensor>&)> aten;
};

Argument Ints(std::initializer_list<Argument> elements) {
  return Argument::Tuple(absl::MakeConstSpan(elements.begin(), elements.size()));
}

#define FUNCTION(target, ...) \
  [](Graph* g, const std::vector<Node*>& v) { return g->CallFunction(target, {__VA_ARGS__}); }
#define METHOD(target, ...) \
  [](Graph* g, const std::vector<Node*>& v) { return g->CallMethod(target, {__VA_ARGS__}); }
#define ATEN(expression) [](const std::vector<at::Tensor>& v) -> at::Tensor { return expression; }

std::vector<Case> Cases() {
  return {
      {"add", FUNCTION("operator.add", v[kX], v[kY]), ATEN(at::add(v[kX], v[kY]))},
      {"add number", FUNCTION("operator.add", v[kX], 1), ATEN(at::add(v[kX], 1))},
      {"mul", FUNCTION("operator.mul", v[kX], v[kY]), ATEN(at::mul(v[kX], v[kY]))},
      {"div number", FUNCTION("operator.truediv", v[kX], 2.0), ATEN(at::div(v[kX], 2.0))},
      {"iadd", FUNCTION("operator.iadd", v[kX], 0), ATEN(v[kX].add_(0))},
      {"relu", FUNCTION("torch.relu", v[kX]), ATEN(at::relu(v[kX]))},
      {"gelu", FUNCTION("torch._C._nn.gelu", v[kX]), ATEN(at::gelu(v[kX]))},
      {"sigmoid", METHOD("sigmoid", v[kX]), ATEN(at::sigmoid(v[kX]))},
      {"softmax", FUNCTION("torch.softmax", v[kX], -1), ATEN(at::softmax(v[kX], -1))},
      {"matmul", FUNCTION("torch.matmul", v[kX], v[kY]), ATEN(at::matmul(v[kX], v[kY]))},
      {"linear", FUNCTION("torch._C._nn.linear", v[kX], v[kY], v[kScale]),
       ATEN(at::linear(v[kX], v[kY], v[kScale]))},
      {"layer_norm", FUNCTION("torch.layer_norm", v[kX], Ints({4}), v[kScale], v[kScale], 1e-5),
       ATEN(at::layer_norm(v[kX], {4}, v[kScale], v[kScale], 1e-5))},
      {"batch_norm",
       FUNCTION("torch.nn.functional.batch_norm", v[kImage], v[kScale], v[kScale], v[kScale],
                v[kScale], false, 0.1, 1e-5),
       ATEN(at::batch_norm(v[kImage], v[kScale], v[kScale], v[kScale], v[kScale], false, 0.1, 1e-5,
                           true))},
      {"conv2d",
       FUNCTION("torch.conv2d", v[kImage], v[kKernel], Argument(), Ints({1, 1}), Ints({1, 1}),
                Ints({1, 1}), 1),
       ATEN(at::conv2d(v[kImage], v[kKernel], {}, at::IntArrayRef{1, 1}, at::IntArrayRef{1, 1},
                       at::IntArrayRef{1, 1}, 1))},
      {"transpose", METHOD("transpose", v[kX], 0, 1), ATEN(v[kX].transpose(0, 1))},
      {"permute", METHOD("permute", v[kHeads], 0, 2, 1, 3), ATEN(v[kHeads].permute({0, 2, 1, 3}))},
      {"view", METHOD("view", v[kX], 2, 8), ATEN(v[kX].view({2, 8}))},
      {"reshape", METHOD("reshape", v[kX], 16), ATEN(v[kX].reshape({16}))},
      {"flatten", METHOD("flatten", v[kX], 0), ATEN(v[kX].flatten(0))},
      {"unsqueeze", METHOD("unsqueeze", v[kX], 0), ATEN(v[kX].unsqueeze(0))},
      {"getitem",
       [](Graph* g, const std::vector<Node*>& v) {
         const Argument bounds[] = {1, 3, {}};
         const Argument all[] = {{}, {}, {}};
         return g->CallFunction("operator.getitem",
                                {v[kX], Ints({Argument::Slice(all), Argument::Slice(bounds)})});
       },
       ATEN(v[kX].slice(1, 1, 3))},
      {"cat",
       [](Graph* g, const std::vector<Node*>& v) {
         return g->CallFunction("torch.cat", {Ints({v[kX], v[kY]}), 1});
       },
       ATEN(at::cat({v[kX], v[kY]}, 1))},
      {"mean", METHOD("mean", v[kX], Ints({-1}), true), ATEN(v[kX].mean({-1}, true))},
      {"to dtype", METHOD("to", v[kX], DType::kFloat64), ATEN(v[kX].to(at::kDouble))},
      {"contiguous", METHOD("contiguous", v[kX]), ATEN(v[kX].contiguous())},
      {"expand", METHOD("expand", v[kScale], 4, 4), ATEN(v[kScale].expand({4, 4}))},
      {"embedding", FUNCTION("torch.nn.functional.embedding", v[kIndex], v[kX]),
       ATEN(at::embedding(v[kX], v[kIndex]))},
      {"dropout", FUNCTION("torch.nn.functional.dropout", v[kX], 0.1, false, false),
       ATEN(at::dropout(v[kX], 0.1, false))},
      {"attention",
       FUNCTION("torch._C._nn.scaled_dot_product_attention", v[kHeads], v[kHeads], v[kHeads]),
       ATEN(at::scaled_dot_product_attention(v[kHeads], v[kHeads], v[kHeads]))},
  };
}

Sample MakeSample(const Case& c) {
  Sample sample;
  sample.name = "overhead";
  sample.module = std::make_unique<Module>();
  Graph* graph = sample.module->AddGraph("forward");
  std::vector<Node*> operands;
  for (const char* name : kOperandNames) operands.push_back(graph->Placeholder(name));
  std::vector<Argument> results;
  for (int i = 0; i < kNodes; ++i) results.emplace_back(c.node(graph, operands));
  graph->Output(Argument::Tuple(results));
  return sample;
}

// Returns the least time a node of each function. The functions take turns, so that a moment in
// which the machine is busy affects all alike.
std::vector<double> Measure(const std::vector<std::function<void()>>& functions) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> best(functions.size(), std::numeric_limits<double>::infinity());
  for (int turn = 0; turn < 100; ++turn) {
    for (size_t i = 0; i < functions.size(); ++i) {
      const auto start = Clock::now();
      functions[i]();
      const double time = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
      best[i] = std::min(best[i], time / kNodes);
    }
  }
  return best;
}

double Median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::infinity();
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Runs the case `only`, or all cases if it is empty.
int Run(bool as_table, const std::string& only) {
  at::set_num_threads(1);
  torch::jit::setGraphExecutorOptimize(false);
  c10::InferenceMode inference;
  const std::vector<at::Tensor> operands = MakeOperands();
  const std::vector<c10::IValue> inputs(operands.begin(), operands.end());
  std::vector<double> ours, theirs;
  if (as_table) {
    std::printf("%-12s %10s %10s %12s   ns a node; overhead in parentheses\n", "", "aten",
                "graphnet", "torchscript");
  }
  for (const Case& c : Cases()) {
    if (!only.empty() && only != c.name) continue;
    Sample sample = MakeSample(c);
    auto executable = Compile(*sample.module);
    if (!executable.ok()) {
      std::fprintf(stderr, "%s: %s\n", c.name, std::string(executable.status().message()).c_str());
      return 1;
    }
    auto lowered = LowerToAten(*sample.module);
    Sample exported;
    exported.name = "overhead";
    exported.module = std::move(lowered->module);
    std::vector<std::function<void()>> functions = {
        [&] {
          std::vector<at::Tensor> results;
          results.reserve(kNodes);
          for (int i = 0; i < kNodes; ++i) results.push_back(c.aten(operands));
        },
        [&] { (void)(*executable)->Run(inputs); },
    };
    torch::jit::Module module;
    const auto archive = ExportTorchScriptToString(exported);
    if (archive.ok()) {
      std::istringstream stream(*archive);
      module = torch::jit::load(stream);
      module.eval();
      functions.push_back([&] { module.forward(inputs); });
    }
    const std::vector<double> times = Measure(functions);
    const double bare = times[0], run = times[1], script = archive.ok() ? times[2] : 0;
    ours.push_back(run - bare);
    if (script > 0) theirs.push_back(script - bare);
    if (as_table) {
      std::printf("%-12s %10.0f %10.0f (%4.0f)", c.name, bare, run, run - bare);
      if (script > 0)
        std::printf(" %10.0f (%4.0f)\n", script, script - bare);
      else
        std::printf("   %s\n", std::string(archive.status().message()).substr(0, 60).c_str());
    } else {
      std::printf("%s\t%.1f\t%.1f\t%.1f\n", c.name, bare, run, script);
    }
  }
  if (as_table) {
    std::printf("\nmedian overhead: graphnet %.0f ns, TorchScript's interpreter %.0f ns\n",
                Median(ours), Median(theirs));
  }
  return Median(ours) <= 250 && Median(ours) <= Median(theirs) ? 0 : 1;
}

}  // namespace
}  // namespace graphnet

// Usage: overhead_benchmark [--tsv] [CASE]
int main(int argc, char** argv) {
  const bool tsv = argc > 1 && std::string(argv[1]) == "--tsv";
  return graphnet::Run(!tsv, argc > (tsv ? 2 : 1) ? argv[argc - 1] : "");
}

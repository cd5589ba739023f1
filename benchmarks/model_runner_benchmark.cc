// Measures a service's calls of one model: ModelRunner beside torch::jit, in one process, in turns.
//
//   model_runner_benchmark MODEL.pt2 MODEL.pt [THREADS]
//
// MODEL.pt is the same model as TorchScript. Prints the time to load and the time of a call with
// each, with one thread for an operator, and the calls a second of THREADS threads that share one
// ModelRunner. The inputs are those that the .pt2 was saved with.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ATen/Parallel.h"
#include "absl/status/status.h"
#include "c10/core/InferenceMode.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/pt2/model_runner.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/torch/tensors.h"
#include "torch/csrc/jit/api/module.h"
#include "torch/csrc/jit/serialization/import.h"

namespace graphnet {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kSeconds = 4;  // for all calls of a table

double Since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void Print(const char* name, std::vector<double> times, double load) {
  std::sort(times.begin(), times.end());
  std::printf("%-34s %9.1f %10.3f %10.3f\n", name, load, times[0], times[times.size() / 2]);
}

absl::Status Run(const char* exported, const char* scripted, int threads) {
  at::set_num_threads(1);
  const c10::InferenceMode inference;

  auto start = Clock::now();
  ASSIGN_OR_RETURN(Sample sample, Load(exported, {.weights = true}));
  const double read = Since(start);
  ASSIGN_OR_RETURN(const auto drawn, DrawInputs(sample, {}));
  start = Clock::now();
  ASSIGN_OR_RETURN(const std::unique_ptr<ModelRunner> runner, ModelRunner::Make(std::move(sample)));
  const double load = read + Since(start);
  std::vector<c10::IValue> inputs;
  for (const std::string& name : runner->inputs()) {
    ASSIGN_OR_RETURN(at::Tensor tensor, ToTensor(drawn.at(name), c10::Device(c10::kCPU)));
    inputs.emplace_back(std::move(tensor));
  }

  start = Clock::now();
  torch::jit::Module module = torch::jit::load(scripted);
  module.eval();
  const double jit_load = Since(start);
  start = Clock::now();
  torch::jit::Module frozen = torch::jit::load(scripted);
  frozen.eval();
  frozen = torch::jit::optimize_for_inference(frozen);
  const double frozen_load = Since(start);

  const std::vector<std::function<void()>> calls = {
      [&] { (void)runner->Run(inputs); },
      [&] { module.forward(inputs); },
      [&] { frozen.forward(inputs); },
  };
  std::vector<std::vector<double>> times(calls.size());
  // The first calls of TorchScript record and optimise.
  for (const auto& call : calls)
    for (int i = 0; i < 5; ++i) call();
  for (const auto begin = Clock::now(); Since(begin) < kSeconds * 1000;) {
    for (size_t i = 0; i < calls.size(); ++i) {
      start = Clock::now();
      calls[i]();
      times[i].push_back(Since(start));
    }
  }
  std::printf("%-34s %9s %10s %10s\n", "one thread, milliseconds", "load", "call, min", "median");
  Print("ModelRunner", times[0], load);
  Print("torch::jit", times[1], jit_load);
  Print("torch::jit, frozen and optimised", times[2], frozen_load);

  std::atomic<int> done = 0;
  std::vector<std::thread> workers;
  const auto begin = Clock::now();
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      const c10::InferenceMode here;
      for (; Since(begin) < kSeconds * 1000; ++done) (void)runner->Run(inputs);
    });
  }
  for (std::thread& worker : workers) worker.join();
  std::printf("%d threads: %.0f calls a second\n", threads, done / kSeconds);
  return absl::OkStatus();
}

}  // namespace
}  // namespace graphnet

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "model_runner_benchmark MODEL.pt2 MODEL.pt\n"), 2;
  const absl::Status ran = graphnet::Run(argv[1], argv[2], argc > 3 ? std::atoi(argv[3]) : 2);
  if (!ran.ok()) std::fprintf(stderr, "%s\n", std::string(ran.message()).c_str());
  return ran.ok() ? 0 : 1;
}

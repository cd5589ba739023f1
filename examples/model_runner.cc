// Loads a program of torch.export once and runs it from several threads:
//
//   ./bazelw run //examples:model_runner -- model.pt2
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "graphnet/graphnet_torch.h"

using graphnet::ModelRunner;

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "model_runner FILE.pt2\n"), 2;
  absl::StatusOr<graphnet::Sample> sample = graphnet::Load(argv[1], {.weights = true});
  if (!sample.ok()) return std::fprintf(stderr, "%s\n", sample.status().ToString().c_str()), 2;
  const auto inputs = graphnet::DrawInputs(*sample, {});  // the inputs that it was saved with
  const auto model = ModelRunner::Make(*std::move(sample));
  if (!model.ok()) return std::fprintf(stderr, "%s\n", model.status().ToString().c_str()), 2;
  std::vector<c10::IValue> values;
  for (const std::string& name : (*model)->inputs())
    values.emplace_back(*graphnet::ToTensor(inputs->at(name), c10::Device(c10::kCPU)));

  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&model, &values] {
      const auto outputs = (*model)->Run(values);
      if (!outputs.ok()) std::fprintf(stderr, "%s\n", outputs.status().ToString().c_str());
      if (outputs.ok()) std::printf("%zu outputs\n", outputs->size());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

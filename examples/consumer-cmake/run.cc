// Runs a sample on inputs that are drawn from what it says of them: run IN. Links LibTorch.
#include <cstdio>
#include <string>

#include "graphnet/graphnet_torch.h"

absl::Status Run(const std::string& in) {
  graphnet::UseLibTorch();  // so that TorchScript is read, too
  absl::StatusOr<graphnet::Sample> sample = graphnet::Load(in, {.weights = true});
  if (!sample.ok()) return sample.status();
  auto values = graphnet::DrawInputs(*sample, {});
  if (!values.ok()) return values.status();
  auto prepared = graphnet::PrepareRun(*sample->module, *std::move(values));
  if (!prepared.ok()) return prepared.status();
  auto outputs = prepared->executable->Run(prepared->inputs);
  if (!outputs.ok()) return outputs.status();
  for (const c10::IValue& output : *outputs) {
    std::printf("sum %.9g\n", output.toTensor().sum().item<double>());
  }
  return absl::OkStatus();
}

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: run IN\n");
    return 2;
  }
  const absl::Status status = Run(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "run: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 2;
}

// Captures a TorchScript module, lists its breaks, and calls it through the cache.
//
//   ./bazelw run //examples:capture -- model.pt 'f32[1,3,224,224]'
#include <cstdio>

#include "graphnet/extract/cache.h"
#include "graphnet/extract/program_inputs.h"
#include "graphnet/formats/torchscript/import_graph.h"

namespace {

absl::Status Run(const char* path, const std::vector<std::string>& texts) {
  const auto module = graphnet::LoadTorchScriptModule(path);
  if (!module.ok()) return module.status();
  const auto inputs = graphnet::MakeProgramInputs(*module, "forward", {}, texts, /*seed=*/0);
  if (!inputs.ok()) return inputs.status();

  graphnet::CaptureCache cache(*module);
  for (int i = 0; i < 3; ++i) {
    const auto result = cache.Call(*inputs);
    if (!result.ok()) return result.status();
  }
  std::printf("%lld captures, %lld hits\n", static_cast<long long>(cache.counters().captures),
              static_cast<long long>(cache.counters().hits));
  for (size_t i = 0; i < cache.num_entries(); ++i) {
    for (const graphnet::StitchStep& step : cache.entry(i).manifest.steps) {
      if (step.subgraph >= 0) {
        std::printf("subgraph_%d\n", step.subgraph);
      } else {
        const graphnet::BreakReasonText& text = graphnet::TextOf(step.reason);
        std::printf("%s: %s\n", std::string(text.name).c_str(), step.source.c_str());
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const absl::Status status = Run(argv[1], {argv + 2, argv + argc});
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 2;
}

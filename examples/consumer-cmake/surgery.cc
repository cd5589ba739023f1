// Makes every ReLU of a sample a GELU: surgery IN OUT, of any formats. Needs no LibTorch.
#include <cstdio>
#include <string>

#include "graphnet/graphnet.h"

absl::Status Run(const std::string& in, const std::string& out) {
  absl::StatusOr<graphnet::Sample> sample = graphnet::Load(in, {.weights = true});
  if (!sample.ok()) return sample.status();
  graphnet::Graph* graph = sample->module->main();
  for (graphnet::Node* node : graph->nodes()) {
    if (!node->is_call_function("aten.relu_.default")) continue;
    graphnet::Node* gelu =
        graph->CallLike(*node, "aten.gelu_.default", {*node->FindArg("self", 0)});
    node->ReplaceAllUsesWith(gelu);
    graph->EraseNode(node);
  }
  if (auto ran = RunPipeline(*graphnet::ParsePipeline("dce"), &*sample); !ran.ok())
    return ran.status();
  if (absl::Status status = graphnet::Verify(*sample->module); !status.ok()) return status;
  return graphnet::Save(*sample, out);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: surgery IN OUT\n");
    return 2;
  }
  const absl::Status status = Run(argv[1], argv[2]);
  if (!status.ok()) std::fprintf(stderr, "surgery: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 2;
}

// Gives the parts of a model that a backend supports to the backend, and compares: partition IN.
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "graphnet/base/status.h"
#include "graphnet/graphnet_torch.h"

using graphnet::Graph;
using graphnet::Node;

// What the backend can run.
bool IsSupported(const Node& node) {
  static const std::set<std::string> kNames = {"aten.linear.default", "aten.relu.default",
                                               "aten.gelu.default",   "aten.layer_norm.default",
                                               "aten.conv2d.default", "aten.batch_norm.default",
                                               "aten.add.Tensor",     "aten._convolution.default"};
  return kNames.contains(std::string(node.target()));
}

// A backend: it compiles a body once. Here the interpreter stands for it.
absl::StatusOr<graphnet::BodyRunner> Backend(const Graph& body, int* calls) {
  std::vector<Node*> nodes;
  for (Node* node : body.nodes()) {
    if (node->is_call()) nodes.push_back(node);
  }
  ASSIGN_OR_RETURN(const graphnet::Subgraph part, graphnet::FindSubgraph(nodes));
  const std::shared_ptr<graphnet::Module> module = graphnet::CutSubgraph(part);
  ASSIGN_OR_RETURN(std::shared_ptr<graphnet::Executable> made, graphnet::Compile(*module));
  return graphnet::BodyRunner([module, made, calls](absl::Span<const c10::IValue> inputs) {
    ++*calls;
    return made->Run(std::vector<c10::IValue>(inputs.begin(), inputs.end()));
  });
}

absl::Status Run(const char* in) {
  graphnet::UseLibTorch();
  ASSIGN_OR_RETURN(graphnet::Sample sample, graphnet::Load(in, {.weights = true}));
  ASSIGN_OR_RETURN(const auto values, graphnet::DrawInputs(sample, {}));
  ASSIGN_OR_RETURN(auto plain, graphnet::PrepareRun(*sample.module, values));
  ASSIGN_OR_RETURN(const auto wanted, plain.executable->Run(plain.inputs));

  const auto whole = sample.module->Clone();
  ASSIGN_OR_RETURN(const std::vector<std::vector<Node*>> groups,
                   graphnet::Partition(whole->main(), IsSupported, {.min_operators = 2}));
  for (const std::vector<Node*>& group : groups) {
    RETURN_IF_ERROR(graphnet::Outline(group, "torch.ops.higher_order.wrap", "group").status());
  }
  int calls = 0;
  const auto backend = [&](const Graph& body) { return Backend(body, &calls); };
  ASSIGN_OR_RETURN(auto parts, graphnet::PrepareRun(*whole, values, {.backend = backend}));
  ASSIGN_OR_RETURN(const auto got, parts.executable->Run(parts.inputs));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].isTensor() && !wanted[i].toTensor().equal(got[i].toTensor()))
      return absl::InternalError("the backend computes something else");
  }
  std::printf("%zu groups, %d calls of the backend, equal in bits\n", groups.size(), calls);
  return absl::OkStatus();
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: partition IN\n"), 2;
  const absl::Status status = Run(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 2;
}

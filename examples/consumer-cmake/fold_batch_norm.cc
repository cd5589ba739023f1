// Folds batch norms into the convolutions before them: fold_batch_norm IN OUT.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "graphnet/base/status.h"
#include "graphnet/graphnet.h"

using graphnet::Argument;
using graphnet::Node;

// Returns the value of a weight that a call reads: a parameter called `name` of it.
absl::StatusOr<std::vector<float>> ReadBy(const Node& call, const char* name,
                                          const graphnet::Sample& sample) {
  ASSIGN_OR_RETURN(const Argument weight, graphnet::ArgOf(call, name));
  if (!weight.is_node()) return absl::NotFoundError("no weight");
  return graphnet::Values<float>(sample, weight.node()->target());
}

// Folds `norm` into `conv`, which nothing else uses: w' = w s and b' = (b - mean) s + shift, where s is
// scale / sqrt(var + eps).
absl::Status Fold(Node* conv, Node* norm, graphnet::Sample* sample) {
  ASSIGN_OR_RETURN(std::vector<float> weight, ReadBy(*conv, "weight", *sample));
  ASSIGN_OR_RETURN(const std::vector<float> mean, ReadBy(*norm, "running_mean", *sample));
  ASSIGN_OR_RETURN(const std::vector<float> var, ReadBy(*norm, "running_var", *sample));
  ASSIGN_OR_RETURN(const std::vector<float> scale, ReadBy(*norm, "weight", *sample));
  ASSIGN_OR_RETURN(std::vector<float> bias, ReadBy(*norm, "bias", *sample));
  ASSIGN_OR_RETURN(const Argument eps, graphnet::ArgOf(*norm, "eps"));
  const auto old = ReadBy(*conv, "bias", *sample);
  const size_t row = weight.size() / bias.size();
  for (size_t i = 0; i < bias.size(); ++i) {
    const double s = scale[i] / std::sqrt(var[i] + eps.real());
    bias[i] += static_cast<float>(((old.ok() ? (*old)[i] : 0.0) - mean[i]) * s);
    for (size_t k = i * row; k < (i + 1) * row; ++k) weight[k] *= static_cast<float>(s);
  }
  ASSIGN_OR_RETURN(const Argument read, graphnet::ArgOf(*conv, "weight"));
  std::vector<int64_t> shape;
  for (const graphnet::Dim& dim : read.node()->tensor_meta()->shape) shape.push_back(dim.value);
  const graphnet::InsertionGuard guard(conv->graph(), conv);
  const std::string name(norm->name());
  ASSIGN_OR_RETURN(Node* const w,
                   graphnet::AddParameter<float>(name + ".weight", shape, weight, sample));
  const std::vector<int64_t> channels = {static_cast<int64_t>(bias.size())};
  ASSIGN_OR_RETURN(Node* const b,
                   graphnet::AddParameter<float>(name + ".bias", channels, bias, sample));
  std::vector<Argument> args(conv->args().begin(), conv->args().end());
  args.resize(std::max<size_t>(args.size(), 3));
  args[1] = w;
  args[2] = b;
  conv->set_args(args);
  norm->ReplaceAllUsesWith(conv);
  norm->graph()->EraseNode(norm);
  return absl::OkStatus();
}

absl::Status Run(const char* in, const char* out) {
  ASSIGN_OR_RETURN(graphnet::Sample sample, graphnet::Load(in, {.weights = true}));
  int folded = 0;
  for (Node* norm : sample.module->main()->nodes()) {
    if (norm->target() != "aten.batch_norm.default" || !norm->args()[0].is_node()) continue;
    Node* const conv = norm->args()[0].node();
    const bool is_conv =
        conv->target() == "aten.conv2d.default" || conv->target() == "aten._convolution.default";
    if (is_conv && conv->users().size() == 1 && Fold(conv, norm, &sample).ok()) ++folded;
  }
  ASSIGN_OR_RETURN(const graphnet::Pipeline clean, graphnet::ParsePipeline("dce"));
  RETURN_IF_ERROR(graphnet::RunPipeline(clean, &sample).status());
  std::printf("%d batch norms folded\n", folded);
  return graphnet::Save(sample, out);
}

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: fold_batch_norm IN OUT\n"), 2;
  const absl::Status status = Run(argv[1], argv[2]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 2;
}

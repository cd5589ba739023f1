#include "graphnet/cli/shapes.h"

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/load.h"
#include "graphnet/cli/options.h"
#include "graphnet/inputs/draw.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/shapes.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/text/printer.h"
#include "graphnet/torch/types.h"
#include "graphnet/torch/values.h"

namespace graphnet {
namespace {

struct Options {
  std::string in;
  InputOptions inputs;
  uint64_t seed = 0;
  bool check = false;
  bool trust = false;
};

bool Agrees(const Module& module, const ValueMeta& meta, const c10::IValue& value) {
  if (meta.tensor != nullptr) {
    if (!value.isTensor()) return false;
    const at::Tensor& tensor = value.toTensor();
    if (DTypeOf(tensor.scalar_type()) != meta.tensor->dtype) return false;
    if (static_cast<size_t>(tensor.dim()) != meta.tensor->shape.size()) return false;
    for (int64_t i = 0; i < tensor.dim(); ++i) {
      const Dim& dim = meta.tensor->shape[static_cast<size_t>(i)];
      const std::optional<int64_t> size =
          dim.is_static() ? dim.value : EvaluateWithExamples(module, *dim.expr);
      if (size != tensor.size(i)) return false;
    }
    return true;
  }
  const std::vector<c10::IValue> elements = Elements(value);
  if (elements.size() != meta.elements.size()) return false;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!Agrees(module, *meta.elements[i], elements[i])) return false;
  }
  return true;
}

// Runs for real and compares each value with the shape that was inferred.
absl::StatusOr<int> Check(const Sample& sample, std::map<std::string, TensorData> values) {
  ASSIGN_OR_RETURN(PreparedRun prepared, PrepareRun(*sample.module, std::move(values)));
  size_t passed = 0;
  size_t failed = 0;
  RunOptions run;
  run.observer = [&](const Node& node, const c10::IValue& value) {
    if (!value.isTensor() && !value.isTuple() && !value.isTensorList()) return absl::OkStatus();
    if (node.meta() != nullptr && Agrees(*sample.module, *node.meta(), value)) {
      ++passed;
    } else if (node.meta() != nullptr || value.isTensor()) {
      ++failed;
      std::printf("%s: the run has another shape or dtype\n", std::string(node.name()).c_str());
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(prepared.executable->Run(std::move(prepared.inputs), run).status());
  std::printf("%zu passed, %zu failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

absl::StatusOr<int> Run(const Options& options) {
  ASSIGN_OR_RETURN(Sample sample,
                   LoadSample(options.in, {.trust = options.trust, .weights = true}));
  DrawOptions draw;
  draw.seed = options.seed;
  ASSIGN_OR_RETURN(auto values, ReadInputs(options.inputs, draw, &sample));
  ASSIGN_OR_RETURN(const ShapeReport report, InferShapes(sample.module.get(), values));
  if (options.check) return Check(sample, std::move(values));
  sample.weights.clear();
  std::fputs(PrintSample(sample).c_str(), stdout);
  std::fprintf(stderr, "%zu values, at most %.1f MiB alive at once\n", report.nodes,
               static_cast<double>(report.peak_bytes) / (1 << 20));
  return 0;
}

}  // namespace

void RegisterShapes(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("shapes", "Print a graph with the shape and dtype of each value");
  command->add_option("in", options->in, "The graph")->required();
  AddInputOption(command, &options->inputs.words);
  AddInputsOption(command, &options->inputs.file);
  command->add_option("--seed", options->seed, "Of drawn inputs, on whose data shapes may depend")
      ->capture_default_str();
  command->add_flag("--check", options->check, "Run the graph too and compare each value's shape");
  AddTrustOption(command, &options->trust);
  command->callback([options, run] { *run = [options] { return Run(*options); }; });
}

}  // namespace graphnet

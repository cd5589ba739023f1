#include "graphnet/interp/shapes.h"

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/batch.h"
#include "graphnet/cli/costs.h"
#include "graphnet/cli/engine/commands.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/progress.h"
#include "graphnet/cli/table.h"
#include "graphnet/facts/cost/cost.h"
#include "graphnet/formats/formats.h"
#include "graphnet/inputs/draw.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/torch/types.h"
#include "graphnet/interp/torch/values.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/text/printer.h"

namespace graphnet {
namespace {

// What sizes that depend on data were found to be: each is one size wherever it stands.
using FoundSizes = absl::flat_hash_map<const SymExpr*, int64_t>;

bool Agrees(const Module& module, const ValueMeta& meta, const c10::IValue& value,
            FoundSizes* found) {
  if (meta.tensor != nullptr) {
    if (!value.isTensor()) return false;
    const at::Tensor& tensor = value.toTensor();
    if (DTypeOf(tensor.scalar_type()) != meta.tensor->dtype) return false;
    if (!meta.tensor->has_shape || tensor.is_nested())
      return meta.tensor->has_shape != tensor.is_nested();
    if (static_cast<size_t>(tensor.dim()) != meta.tensor->shape.size()) return false;
    for (int64_t i = 0; i < tensor.dim(); ++i) {
      const Dim& dim = meta.tensor->shape[static_cast<size_t>(i)];
      std::optional<int64_t> size =
          dim.is_static() ? dim.value : EvaluateWithExamples(module, *dim.expr);
      if (!size) size = found->try_emplace(dim.expr, tensor.size(i)).first->second;
      if (size != tensor.size(i)) return false;
    }
    return true;
  }
  const std::vector<c10::IValue> elements = Elements(value);
  if (elements.size() != meta.elements.size()) return false;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!Agrees(module, *meta.elements[i], elements[i], found)) return false;
  }
  return true;
}

// Runs for real and compares each value with the shape that was inferred.
absl::StatusOr<int> Check(const Sample& sample, std::map<std::string, TensorData> values,
                          bool json) {
  ASSIGN_OR_RETURN(PreparedRun prepared, PrepareRun(*sample.module, std::move(values),
                                                    {.max_bytes = AvailableMemoryBytes()}));
  size_t passed = 0;
  std::vector<std::string> failed;
  FoundSizes found;
  RunOptions run;
  run.observer = [&](const Node& node, const c10::IValue& value) {
    if (!value.isTensor() && !value.isTuple() && !value.isTensorList()) return absl::OkStatus();
    if (node.meta() != nullptr && Agrees(*sample.module, *node.meta(), value, &found)) {
      ++passed;
    } else if (node.meta() != nullptr || value.isTensor()) {
      failed.emplace_back(node.name());
    }
    return absl::OkStatus();
  };
  {
    const Progress progress("running");
    RETURN_IF_ERROR(prepared.executable->Run(std::move(prepared.inputs), run).status());
  }
  if (json) {
    Json document;
    document["passed"] = passed;
    document["failed"] = failed.size();
    document["wrong"] = Json::List(failed);
    PrintJson(document);
  } else {
    for (const std::string& name : failed)
      std::printf("%s: the run has another shape or dtype\n", Printable(name).c_str());
    PrintCount({.done = passed + failed.size(), .failed = failed.size()});
  }
  return failed.empty() ? 0 : 1;
}

}  // namespace

absl::StatusOr<int> ShowShapes(const ShapesFlags& options) {
  ASSIGN_OR_RETURN(Sample sample, Load(options.in, {.trust = options.trust, .weights = true}));
  DrawOptions draw;
  draw.seed = options.seed;
  if (!options.check) draw.max_elements = kMaxElementsWithData;
  ASSIGN_OR_RETURN(auto values, ReadInputs(options.inputs, draw, &sample));
  ShapeReport report;
  {
    const Progress progress("inferring shapes");
    ASSIGN_OR_RETURN(report, InferShapes(sample.module.get(), values));
  }
  if (options.check) return Check(sample, std::move(values), options.json);
  // The graph is asked for, not what lies beside it: a program's description of itself is long.
  sample.weights.clear();
  sample.extra_files.clear();
  ModuleCost cost = CostOf(*sample.module);
  // The run knows which values share memory.
  cost.alive_bytes = std::move(report.alive_bytes);
  cost.peak_bytes = report.peak_bytes;
  const CostTable table = CostsBy(options.cost, *sample.module, cost);
  if (options.json) {
    Json document = OutlineJson(sample);
    SetCosts(table, &document);
    PrintJson(document);
    return 0;
  }
  if (options.cost == CallKey::kNone) {
    std::fputs(PrintSample(sample).c_str(), stdout);
  } else {
    PrintCosts(table);
  }
  PrintCostNotes(cost);
  std::fprintf(stderr, "%zu values, at most %s alive at once; %s\n", report.nodes,
               BytesText(report.peak_bytes).c_str(), CostLine(cost.total).c_str());
  return 0;
}

}  // namespace graphnet

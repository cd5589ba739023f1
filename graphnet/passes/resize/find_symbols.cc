#include "graphnet/passes/resize/find_symbols.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/passes/rename_inputs.h"

namespace graphnet {
namespace {

bool HasData(const Node& node) {
  const TensorMeta* meta = node.tensor_meta();
  return !IsWeight(node) && !NumberDType(node.annotation()).has_value() && meta != nullptr &&
         meta->has_shape && !meta->shape.empty();
}

// Makes a size of the inputs a symbol: on axis 0, or on all others. Returns their number.
size_t MakeSymbol(Module* module, bool is_batch, int64_t size, const std::string& name) {
  size_t made = 0;
  module->AddSymbol(name, size);
  for (Node* node : module->main()->placeholders()) {
    if (!HasData(*node)) continue;
    TensorMeta meta = *node->tensor_meta();
    std::vector<Dim> dims(meta.shape.begin(), meta.shape.end());
    for (size_t i = is_batch ? 0 : 1; i < (is_batch ? 1 : dims.size()); ++i) {
      if (!dims[i].is_static() || dims[i].value != size) continue;
      dims[i] = Dim(module->SymSymbol(name));
      ++made;
    }
    meta.shape = dims;
    node->set_meta(module->InternValueMeta(meta));
  }
  return made;
}

}  // namespace

absl::Status FindSymbols(Sample* sample, const InferSizes& infer, TrySample works) {
  Module& module = *sample->module;
  if (module.main() == nullptr) return absl::InvalidArgumentError("the module has no graph");
  if (!module.symbols().empty()) return absl::FailedPreconditionError("it has symbols already");
  // The batch, and the other sizes.
  std::vector<std::pair<bool, int64_t>> sizes;
  std::set<int64_t> seen;
  for (const Node* node : module.main()->placeholders()) {
    if (!HasData(*node)) continue;
    const absl::Span<const Dim> shape = node->tensor_meta()->shape;
    if (sizes.empty() && shape[0].is_static() && shape[0].value > 0)
      sizes.emplace_back(true, shape[0].value);
    for (const Dim& dim : shape.subspan(1)) {
      if (dim.is_static() && dim.value > 1 && seen.insert(dim.value).second)
        sizes.emplace_back(false, dim.value);
    }
  }
  if (sizes.empty()) return absl::FailedPreconditionError("no input has a size");
  absl::Status first;
  for (const auto& [is_batch, size] : sizes) {
    const std::string name = absl::StrCat("S", module.symbols().size());
    Sample trial = {.name = sample->name,
                    .module = module.Clone(),
                    .has_constraints = true,
                    .weights = sample->weights};
    if (MakeSymbol(trial.module.get(), is_batch, size, name) == 0) continue;
    std::vector<int64_t> row;
    for (const Symbol& symbol : trial.module->symbols()) row.push_back(*symbol.example);
    std::vector<std::vector<int64_t>> rows(3, row);
    for (int64_t i = 0; i < 3; ++i) rows[static_cast<size_t>(i)].back() *= i + 1;
    const auto tried = [&]() -> absl::Status {
      ASSIGN_OR_RETURN(const auto plan, ResizePlan::Make(&trial, rows, infer));
      for (size_t i = 0; i < rows.size(); ++i) {
        RETURN_IF_ERROR(plan->Apply(i));
        RETURN_IF_ERROR(works(&trial, plan.get(), i));
      }
      return absl::OkStatus();
    }();
    if (tried.ok()) MakeSymbol(&module, is_batch, size, name);
    if (first.ok()) first = tried;
  }
  if (module.symbols().empty()) return first;
  sample->has_constraints = true;
  return absl::OkStatus();
}

}  // namespace graphnet

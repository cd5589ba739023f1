#include "graphnet/run/trial_run.h"

#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/cost/cost.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/inputs/wrong_answers.h"
#include "graphnet/passes/rename_inputs.h"

namespace graphnet {

absl::Status TrialRun::Run(const TrialLimits& limits) {
  const auto flops = static_cast<double>(CostOf(*sample_.module).total.flops);
  if (flops > limits.max_flops)
    return absl::ResourceExhaustedError(absl::StrCat("would take ", flops / 1e9, " GFLOP"));
  // What has the sizes of before is not drawn again.
  const std::map<std::string, TensorData> known = sample_.weights;
  for (const Node* node : sample_.module->main()->placeholders()) {
    const auto it = drawn_.find(std::string(node->target()));
    const TensorMeta* meta = node->tensor_meta();
    if (it == drawn_.end() || !IsWeight(*node) || meta == nullptr || !meta->is_static()) continue;
    const std::vector<int64_t>& shape = it->second.shape;
    bool is_same = shape.size() == meta->shape.size();
    for (size_t i = 0; is_same && i < shape.size(); ++i) is_same = shape[i] == meta->shape[i].value;
    if (is_same) sample_.weights.insert(*it);
  }
  absl::StatusOr<TensorValues> values = DrawInputs(sample_, {.max_bytes = limits.max_bytes});
  sample_.weights = known;
  RETURN_IF_ERROR(values.status());
  drawn_.clear();
  for (const Node* node : sample_.module->main()->placeholders()) {
    const auto it = values->find(std::string(node->target()));
    if (it != values->end() && IsWeight(*node)) drawn_.insert(*it);
  }
  RunSettings settings;
  settings.max_bytes = limits.max_bytes;
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadyProgram> program,
                   engine_.Prepare(*sample_.module, *std::move(values), settings));
  RETURN_IF_ERROR(program->Run(nullptr));
  ASSIGN_OR_RETURN(const TensorValues outputs, program->Outputs());
  for (const auto& [name, value] : outputs) {
    if (!IsFinite(value))
      return absl::OutOfRangeError(absl::StrCat("output ", name, " has nan or infinity"));
  }
  return absl::OkStatus();
}

}  // namespace graphnet

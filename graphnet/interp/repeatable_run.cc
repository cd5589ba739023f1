#include "graphnet/interp/repeatable_run.h"

#include <algorithm>

#include "ATen/ops/empty.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/torch/status.h"

namespace graphnet {

at::Tensor MemoryOf(const at::Tensor& tensor) {
  return at::empty({0}, tensor.options().dtype(at::kByte)).set_(tensor.storage());
}

absl::StatusOr<RepeatableRun> RepeatableRun::Make(PreparedRun prepared) {
  RepeatableRun made;
  made.prepared_ = std::move(prepared);
  RETURN_IF_ERROR(Guarded([&] {
    for (const c10::IValue& input : made.prepared_.inputs) {
      if (input.isTensor()) made.Keep(input.toTensor());
    }
    for (const auto& [name, tensor] : made.prepared_.attributes) made.Keep(tensor);
    return absl::OkStatus();
  }));
  return made;
}

absl::Status RepeatableRun::Restore() {
  return Guarded([this] {
    for (auto& [memory, copy] : kept_) memory.copy_(copy);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<c10::IValue>> RepeatableRun::Run(const RunOptions& options) {
  // A run may change the shape of an input in place.
  std::vector<c10::IValue> inputs;
  for (const c10::IValue& input : prepared_.inputs)
    inputs.push_back(input.isTensor() ? c10::IValue(input.toTensor().alias()) : input);
  given_ = inputs;
  ASSIGN_OR_RETURN(std::vector<c10::IValue> outputs,
                   prepared_.executable->Run(std::move(inputs), options));
  if (!std::exchange(knows_written_, true)) {
    RETURN_IF_ERROR(Guarded([this] {
      kept_.erase(std::remove_if(kept_.begin(), kept_.end(),
                                 [](const auto& pair) { return pair.first.equal(pair.second); }),
                  kept_.end());
      return absl::OkStatus();
    }));
  }
  return outputs;
}

absl::StatusOr<std::vector<c10::IValue>> RepeatableRun::RunAgain(const RunOptions& options) {
  RETURN_IF_ERROR(Restore());
  return Run(options);
}

absl::StatusOr<PreparedRun> RepeatableRun::Release() && {
  RETURN_IF_ERROR(Restore());
  return std::move(prepared_);
}

void RepeatableRun::Keep(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return;
  const at::Tensor memory = MemoryOf(tensor);
  kept_.emplace_back(memory, memory.clone());
}

}  // namespace graphnet

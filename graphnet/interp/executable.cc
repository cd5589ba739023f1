#include "graphnet/interp/executable.h"

#include <optional>
#include <utility>

#include "ATen/Context.h"
#include "ATen/core/LegacyTypeDispatch.h"
#include "ATen/core/grad_mode.h"
#include "absl/strings/str_cat.h"
#include "c10/core/InferenceMode.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/builtins.h"
#include "graphnet/interp/frame.h"
#include "graphnet/interp/program.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/ops/lowering.h"

namespace graphnet {
namespace {

using c10::IValue;

class ExecutableImpl : public Executable {
 public:
  absl::Status Build(const Module& module, CompileOptions options) {
    device_ = options.device;
    ASSIGN_OR_RETURN(lowered_, LowerToAten(module));
    keeps_records_ = options.records_gradients;
    options.records_gradients |= AsksForGradients(module);
    // Shape inference knows the sizes of gradients without records.
    records_ = options.records_gradients && !device_.is_meta();
    for (const Graph* graph : lowered_.module->graphs()) {
      programs_[graph] = std::make_unique<interp::Program>();
    }
    for (const Graph* graph : lowered_.module->graphs()) {
      RETURN_IF_ERROR(
          Guarded([&] { return interp::CompileGraph(*graph, lowered_, options, programs_); }));
    }
    main_ = programs_.at(lowered_.module->main()).get();
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<IValue>> Run(std::vector<IValue> inputs,
                                          const RunOptions& options) override {
    if (inputs.size() != main_->inputs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the graph takes ", main_->inputs.size(), " inputs, not ", inputs.size()));
    }
    if (options.seed.has_value()) at::manual_seed(*options.seed);
    // Tensors are ordinary ones, as under torch.no_grad. Unless the program asks for gradients,
    // calls skip autograd's kernels, which would record nothing.
    std::optional<c10::InferenceMode> ordinary;
    if (records_) ordinary.emplace(false);
    const at::AutoGradMode mode(records_);
    std::optional<at::AutoDispatchBelowAutograd> below_autograd;
    if (!records_) below_autograd.emplace();
    interp::StateGuard state;
    // Shape inference must end soon, even if the program's loops are long.
    interp::RunState shared;
    shared.iterations = device_.is_meta() ? kMaxIterationsForShapes : INT64_MAX;
    shared.recover_errors = options.recover_errors;
    interp::Frame frame(*main_, device_, options.observer ? &options.observer : nullptr,
                        options.recover ? &options.recover : nullptr, &shared);
    std::vector<IValue> results;
    const absl::Status ran = frame.Run(std::move(inputs), /*flat=*/true, &results);
    if (options.reads_data != nullptr) *options.reads_data |= shared.reads_data;
    RETURN_IF_ERROR(ran);
    for (IValue& result : results) {
      // Without records, such a result is a parameter that the graph returns.
      if (!records_ || keeps_records_ || !result.isTensor() || !result.toTensor().requires_grad())
        continue;
      result = result.toTensor().detach();
    }
    return results;
  }

  size_t num_instructions() const override { return main_->instructions.size(); }

 private:
  LoweredModule lowered_;
  c10::Device device_ = c10::Device(c10::kCPU);
  bool records_ = false;        // records for gradients
  bool keeps_records_ = false;  // results keep the records
  interp::Programs programs_;
  const interp::Program* main_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> Compile(const Module& module,
                                                    const CompileOptions& options) {
  if (module.main() == nullptr) return absl::InvalidArgumentError("the module has no graph");
  auto executable = std::make_unique<ExecutableImpl>();
  RETURN_IF_ERROR(executable->Build(module, options));
  return std::unique_ptr<Executable>(std::move(executable));
}

}  // namespace graphnet

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/formats.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/repeatable_run.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/run/engine/worker_program.h"

namespace graphnet {
namespace {

class NopeProgram final : public WorkerProgram {
 public:
  NopeProgram(Sample sample, std::vector<std::string> written, c10::Device device)
      : sample_(std::move(sample)), written_(std::move(written)), device_(device) {}

  absl::Status Load(std::map<std::string, TensorData> values) override {
    PrepareOptions prepare;
    prepare.device = device_;
    ASSIGN_OR_RETURN(PreparedRun prepared, PrepareRun(*sample_.module, std::move(values), prepare));
    ASSIGN_OR_RETURN(run_, RepeatableRun::Make(std::move(prepared)));
    return absl::OkStatus();
  }

  absl::Status Restore() override { return run_->Restore(); }

  std::vector<at::Tensor> Kept() const override {
    std::vector<at::Tensor> kept;
    for (const c10::IValue& input : run_->prepared().inputs) {
      if (input.isTensor()) kept.push_back(input.toTensor());
    }
    for (const auto& [name, tensor] : run_->prepared().attributes) kept.push_back(tensor);
    return kept;
  }

  std::string Proof() const override {
    return absl::StrCat(run_->prepared().executable->num_instructions(), " instructions");
  }

  absl::StatusOr<std::vector<c10::IValue>> Run(const RunOptions& options) override {
    ASSIGN_OR_RETURN(std::vector<c10::IValue> outputs, run_->Run(options));
    for (const std::string& name : written_) {
      ASSIGN_OR_RETURN(c10::IValue value, ValueOf(name, run_->inputs()));
      outputs.push_back(std::move(value));
    }
    return outputs;
  }

 private:
  absl::StatusOr<c10::IValue> ValueOf(const std::string& name,
                                      const std::vector<c10::IValue>& inputs) const {
    const auto placeholders = sample_.module->main()->placeholders();
    size_t i = 0;
    for (const Node* node : placeholders) {
      if (node->target() == name && i < inputs.size()) return inputs[i];
      ++i;
    }
    const auto attribute = run_->prepared().attributes.find(name);
    if (attribute == run_->prepared().attributes.end())
      return absl::InvalidArgumentError(absl::StrCat("there is no ", Printable(name)));
    return c10::IValue(attribute->second);
  }

  Sample sample_;
  std::vector<std::string> written_;
  c10::Device device_;
  std::optional<RepeatableRun> run_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerProgram>> PrepareNope(const WorkerProgramRequest& request) {
  ASSIGN_OR_RETURN(Sample sample, Load(request.program));
  ASSIGN_OR_RETURN(const c10::Device device, ParseRunDevice(request.device));
  return std::make_unique<NopeProgram>(std::move(sample), request.written, device);
}

}  // namespace graphnet

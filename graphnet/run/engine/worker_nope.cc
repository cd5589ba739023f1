#include <utility>

#include "ATen/ops/empty.h"
#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/formats.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/status.h"
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
    ASSIGN_OR_RETURN(prepared_, PrepareRun(*sample_.module, std::move(values), prepare));
    knows_written_ = false;
    kept_.clear();
    return Guarded([this] {
      for (const c10::IValue& input : prepared_.inputs) {
        if (input.isTensor()) Keep(input.toTensor());
      }
      for (const auto& [name, tensor] : prepared_.attributes) Keep(tensor);
      return absl::OkStatus();
    });
  }

  absl::Status Restore() override {
    return Guarded([this] {
      for (auto& [memory, copy] : kept_) memory.copy_(copy);
      return absl::OkStatus();
    });
  }

  absl::StatusOr<std::vector<c10::IValue>> Run(uint64_t seed) override {
    // A run may change the shape of an input in place.
    std::vector<c10::IValue> inputs;
    for (const c10::IValue& input : prepared_.inputs)
      inputs.push_back(input.isTensor() ? c10::IValue(input.toTensor().alias()) : input);
    const std::vector<c10::IValue> given = inputs;
    ASSIGN_OR_RETURN(std::vector<c10::IValue> outputs,
                     prepared_.executable->Run(std::move(inputs), {.seed = seed}));
    RETURN_IF_ERROR(LearnWritten());
    for (const std::string& name : written_) {
      ASSIGN_OR_RETURN(c10::IValue value, ValueOf(name, given));
      outputs.push_back(std::move(value));
    }
    return outputs;
  }

  std::vector<at::Tensor> Kept() const override {
    std::vector<at::Tensor> kept;
    for (const c10::IValue& input : prepared_.inputs) {
      if (input.isTensor()) kept.push_back(input.toTensor());
    }
    for (const auto& [name, tensor] : prepared_.attributes) kept.push_back(tensor);
    return kept;
  }

  std::string Proof() const override {
    return absl::StrCat(prepared_.executable->num_instructions(), " instructions");
  }

 private:
  void Keep(const at::Tensor& tensor) {
    const at::Tensor memory = MemoryOf(tensor);
    kept_.emplace_back(memory, memory.clone());
  }

  // The first run shows which tensors are written to. Later runs write to the same ones.
  absl::Status LearnWritten() {
    if (std::exchange(knows_written_, true)) return absl::OkStatus();
    return Guarded([this] {
      kept_.erase(std::remove_if(kept_.begin(), kept_.end(),
                                 [](const auto& pair) { return pair.first.equal(pair.second); }),
                  kept_.end());
      return absl::OkStatus();
    });
  }

  absl::StatusOr<c10::IValue> ValueOf(const std::string& name,
                                      const std::vector<c10::IValue>& inputs) const {
    const auto placeholders = sample_.module->main()->placeholders();
    size_t i = 0;
    for (const Node* node : placeholders) {
      if (node->target() == name && i < inputs.size()) return inputs[i];
      ++i;
    }
    const auto attribute = prepared_.attributes.find(name);
    if (attribute == prepared_.attributes.end())
      return absl::InvalidArgumentError(absl::StrCat("there is no ", Printable(name)));
    return c10::IValue(attribute->second);
  }

  Sample sample_;
  std::vector<std::string> written_;
  c10::Device device_;
  PreparedRun prepared_;
  std::vector<std::pair<at::Tensor, at::Tensor>>
      kept_;  // the memory of tensors that runs write to, and copies of what it held
  bool knows_written_ = false;
};

}  // namespace

at::Tensor MemoryOf(const at::Tensor& tensor) {
  return at::empty({0}, tensor.options().dtype(at::kByte)).set_(tensor.storage());
}

absl::StatusOr<std::unique_ptr<WorkerProgram>> PrepareNope(const WorkerProgramRequest& request) {
  ASSIGN_OR_RETURN(Sample sample, Load(request.program));
  ASSIGN_OR_RETURN(const c10::Device device, ParseRunDevice(request.device));
  return std::make_unique<NopeProgram>(std::move(sample), request.written, device);
}

}  // namespace graphnet

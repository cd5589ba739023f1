#include <map>
#include <utility>
#include <vector>

#include "ATen/Context.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/stitched.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/run/engine/worker_program.h"
#include "torch/csrc/jit/api/module.h"
#include "torch/csrc/jit/ir/ir.h"
#include "torch/csrc/jit/serialization/import.h"

namespace graphnet {
namespace {

// Counts all nodes and those that LibTorch's optimisations made.
void CountNodes(at::ArrayRef<torch::jit::Block*> blocks, size_t* all, size_t* made) {
  for (torch::jit::Block* block : blocks) {
    for (torch::jit::Node* node : block->nodes()) {
      const absl::string_view kind = node->kind().toQualString();
      if (kind == "prim::Constant") continue;
      ++*all;
      if (absl::StrContains(kind, "mkldnn") || absl::StrContains(kind, "prepacked") ||
          absl::StrContains(kind, "MKLDNN") || absl::StrContains(kind, "Group"))
        ++*made;
      CountNodes(node->blocks(), all, made);
    }
  }
}

// Adds the tensors that freezing turned into constants of the code.
void AddConstants(at::ArrayRef<torch::jit::Block*> blocks, std::vector<at::Tensor>* constants) {
  for (torch::jit::Block* block : blocks) {
    for (torch::jit::Node* node : block->nodes()) {
      for (const c10::Symbol name : node->attributeNames()) {
        if (node->kindOf(name) == torch::jit::AttributeKind::t) {
          constants->push_back(node->t(name));
        } else if (node->kindOf(name) == torch::jit::AttributeKind::ts) {
          constants->insert(constants->end(), node->ts(name).begin(), node->ts(name).end());
        } else if (node->kindOf(name) == torch::jit::AttributeKind::ival) {
          for (const c10::IValue& value : FlattenResult(node->ival(name))) {
            if (value.isTensor()) constants->push_back(value.toTensor());
          }
        }
      }
      AddConstants(node->blocks(), constants);
    }
  }
}

class JitProgram final : public WorkerProgram {
 public:
  JitProgram(torch::jit::Module module, std::vector<std::string> order, c10::Device device)
      : module_(std::move(module)), order_(std::move(order)), device_(device) {}

  absl::Status Load(std::map<std::string, TensorData> values) override {
    const auto& arguments = module_.get_method("forward").function().getSchema().arguments();
    if (arguments.size() != order_.size() + 1)
      return absl::InvalidArgumentError("the program takes another number of inputs");
    inputs_.clear();
    for (size_t i = 0; i < order_.size(); ++i) {
      const auto value = values.find(order_[i]);
      if (value == values.end())
        return absl::NotFoundError(absl::StrCat("no value of ", Printable(order_[i])));
      ASSIGN_OR_RETURN(at::Tensor tensor, ToTensor(value->second, device_));
      const c10::TypeKind kind = arguments[i + 1].type()->kind();
      const bool is_number = kind == c10::TypeKind::IntType || kind == c10::TypeKind::FloatType ||
                             kind == c10::TypeKind::BoolType;
      if (!is_number) {
        inputs_.emplace_back(std::move(tensor));
      } else if (kind == c10::TypeKind::IntType) {
        inputs_.emplace_back(tensor.item().toLong());
      } else if (kind == c10::TypeKind::FloatType) {
        inputs_.emplace_back(tensor.item().toDouble());
      } else {
        inputs_.emplace_back(tensor.item().toBool());
      }
    }
    return absl::OkStatus();
  }

  // The program has no effects.
  absl::Status Restore() override { return absl::OkStatus(); }

  absl::StatusOr<std::vector<c10::IValue>> Run(const RunOptions& options) override {
    return Guarded([&]() -> absl::StatusOr<std::vector<c10::IValue>> {
      const at::NoGradGuard no_grad;
      at::manual_seed(options.seed.value_or(0));
      return FlattenResult(module_.forward(inputs_));
    });
  }

  std::vector<at::Tensor> Kept() const override {
    std::vector<at::Tensor> kept;
    AddConstants({module_.get_method("forward").graph()->block()}, &kept);
    for (const at::Tensor& parameter : module_.parameters()) kept.push_back(parameter);
    for (const at::Tensor& buffer : module_.buffers()) kept.push_back(buffer);
    for (const c10::IValue& input : inputs_) {
      if (input.isTensor()) kept.push_back(input.toTensor());
    }
    return kept;
  }

  std::string Proof() const override {
    size_t all = 0;
    size_t made = 0;
    CountNodes({module_.get_method("forward").graph()->block()}, &all, &made);
    return absl::StrCat("frozen: ", all, " nodes, ", made, " of them oneDNN's or prepacked");
  }

 private:
  torch::jit::Module module_;
  std::vector<std::string> order_;
  c10::Device device_;
  std::vector<c10::IValue> inputs_;
};

}  // namespace

torch::jit::Module OptimizedForInference(torch::jit::Module module) {
  module.eval();
  module = torch::jit::freeze(module);
  return torch::jit::optimize_for_inference(module);
}

absl::StatusOr<std::unique_ptr<WorkerProgram>> PrepareJit(const WorkerProgramRequest& request) {
  ASSIGN_OR_RETURN(const c10::Device device, ParseRunDevice(request.device));
  return Guarded([&]() -> absl::StatusOr<std::unique_ptr<WorkerProgram>> {
    return std::make_unique<JitProgram>(
        OptimizedForInference(torch::jit::load(request.program, device)), request.order, device);
  });
}

}  // namespace graphnet

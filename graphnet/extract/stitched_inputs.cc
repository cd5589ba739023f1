#include "graphnet/extract/stitched_inputs.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/input_leaves.h"
#include "graphnet/interp/structured_input.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/tensors.h"

namespace graphnet {
namespace {

// Checks a value that capturing made a constant: the program holds for that value only.
absl::Status CheckConstant(const std::string& name, const ValueTree& tree, const TensorData& data) {
  return Guarded([&]() -> absl::Status {
    ASSIGN_OR_RETURN(const at::Tensor tensor, ToTensor(data, c10::Device(c10::kCPU)));
    const auto differs = [&](const std::string& found) {
      return absl::FailedPreconditionError(
          absl::StrCat(Printable(name), ": expected ", PrintValueTree(tree), ", found ", found));
    };
    if (tree.kind == ValueTree::Kind::kNone) return differs("a value");
    if (tree.kind == ValueTree::Kind::kString) {
      const std::string text = TextOf(tensor).toStringRef();
      return text == tree.text ? absl::OkStatus() : differs(Printable(text));
    }
    const at::Scalar number = tensor.item();
    const bool is_same = tree.kind == ValueTree::Kind::kFloat
                             ? number.toDouble() == tree.real ||
                                   (std::isnan(number.toDouble()) && std::isnan(tree.real))
                             : !number.isFloatingPoint() && number.toLong() == tree.number;
    return is_same ? absl::OkStatus()
                   : differs(number.isFloatingPoint() ? absl::StrCat(number.toDouble())
                                                      : absl::StrCat(number.toLong()));
  });
}

// Returns the placeholder that takes tensor `number`, or null.
const Node* PlaceholderOf(const ExtractedProgram& program, int64_t number) {
  for (const StitchStep& step : program.manifest.steps) {
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.inputs[i] != number) continue;
      return program.subgraphs[static_cast<size_t>(step.subgraph)]
          .module->main()
          ->placeholders()[step.symbols.size() + i];
    }
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<std::vector<c10::IValue>> MakeStitchedInputs(
    const LoadedProgram& loaded, const std::map<std::string, TensorData>& given,
    const DrawOptions& draw) {
  const StitchManifest& manifest = loaded.stored.manifest;
  const InputLeaves leaves = LeavesOf(manifest);
  for (const auto& [name, tree] : leaves.constants) {
    const auto it = given.find(name);
    if (it != given.end()) RETURN_IF_ERROR(CheckConstant(name, *tree, it->second));
  }
  std::map<int64_t, at::Tensor> tensors;
  for (const auto& [number, name] : leaves.tensors) {
    const auto it = given.find(name);
    TensorData data;
    if (it != given.end()) {
      data = it->second;
    } else {
      const auto found = manifest.tensors.find(number);
      if (found == manifest.tensors.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("nothing is known about input ", Printable(name)));
      }
      const TensorGuard& guard = found->second;
      const std::vector<Dim> shape(guard.sizes.begin(), guard.sizes.end());
      const Node* placeholder = PlaceholderOf(loaded.stored, number);
      ASSIGN_OR_RETURN(data, DrawTensor({.dtype = guard.dtype, .has_shape = true, .shape = shape},
                                        placeholder != nullptr ? placeholder->draw_spec() : nullptr,
                                        name, draw));
    }
    ASSIGN_OR_RETURN(tensors[number], ToTensor(data, c10::Device(c10::kCPU)));
  }
  return loaded.program->MakeInputs(tensors);
}

}  // namespace graphnet

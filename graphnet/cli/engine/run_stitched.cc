#include "graphnet/cli/engine/run_stitched.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/extract/folder.h"
#include "graphnet/inputs/example_input.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/tensors.h"

namespace graphnet {
namespace {

// What a folder's inputs are made of, with names.
struct Leaves {
  std::map<int64_t, std::string> tensors;
  std::map<std::string, const ValueTree*> constants;  // numbers and texts
};

void NameLeaves(const ValueTree& tree, const std::string& name, Leaves* leaves) {
  switch (tree.kind) {
    case ValueTree::Kind::kTensor: leaves->tensors.try_emplace(tree.number, name); break;
    case ValueTree::Kind::kNone:
    case ValueTree::Kind::kBool:
    case ValueTree::Kind::kInt:
    case ValueTree::Kind::kFloat:
    case ValueTree::Kind::kString: leaves->constants.emplace(name, &tree); break;
    default: break;
  }
  const bool is_dict = tree.kind == ValueTree::Kind::kDict;
  for (size_t i = 0; i < tree.elements.size(); ++i) {
    // Keys and values alternate.
    const bool has_key = is_dict && i % 2 == 1 && !tree.elements[i - 1].text.empty();
    if (is_dict && i % 2 == 0) continue;
    NameLeaves(
        tree.elements[i],
        has_key ? absl::StrCat(name, ".", tree.elements[i - 1].text) : absl::StrCat(name, ".", i),
        leaves);
  }
}

// What became a constant as the program was captured holds for this value only.
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

// The placeholder that takes tensor `number`, or null.
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

absl::StatusOr<StitchedRun> PrepareStitchedRun(const std::string& folder,
                                               const InputOptions& inputs, const DrawOptions& draw,
                                               bool trust) {
  StitchedRun run;
  ASSIGN_OR_RETURN(ExtractedProgram stored, ReadExtracted(folder));
  ASSIGN_OR_RETURN(run.loaded, LoadProgram(std::move(stored), trust));
  const StitchManifest& manifest = run.loaded.stored.manifest;
  Leaves leaves;
  for (const auto& input : manifest.inputs) NameLeaves(input.pattern, input.name, &leaves);
  std::vector<std::string> known;
  for (const auto& [number, name] : leaves.tensors) known.push_back(name);
  for (const auto& [name, tree] : leaves.constants) known.push_back(name);
  ASSIGN_OR_RETURN(auto given, ReadValues(inputs.file, known));
  std::vector<absl::string_view> parameters;
  for (const auto& input : manifest.inputs) parameters.push_back(input.name);
  size_t next = 0;
  for (const std::string& word : inputs.words) {
    ASSIGN_OR_RETURN(const ExampleInput input, ParseExampleInput(word));
    const auto it =
        input.name.empty()
            ? parameters.begin() + static_cast<ptrdiff_t>(std::min(next++, parameters.size()))
            : absl::c_find(parameters, input.name);
    if (it == parameters.end()) {
      return absl::InvalidArgumentError(absl::StrCat("--input ", Printable(word),
                                                     ": there is no input for it",
                                                     NearMissHint(input.name, parameters)));
    }
    RETURN_IF_ERROR(DrawExamples(input, std::string(*it), draw.seed, &given));
  }
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
            absl::StrCat("nothing is known of input ", Printable(name)));
      }
      const TensorGuard& guard = found->second;
      const std::vector<Dim> shape(guard.sizes.begin(), guard.sizes.end());
      const Node* placeholder = PlaceholderOf(run.loaded.stored, number);
      ASSIGN_OR_RETURN(data, DrawTensor({.dtype = guard.dtype, .has_shape = true, .shape = shape},
                                        placeholder != nullptr ? placeholder->draw_spec() : nullptr,
                                        name, draw));
    }
    ASSIGN_OR_RETURN(tensors[number], ToTensor(data, c10::Device(c10::kCPU)));
  }
  ASSIGN_OR_RETURN(run.inputs, run.loaded.program->MakeInputs(tensors));
  return run;
}

}  // namespace graphnet

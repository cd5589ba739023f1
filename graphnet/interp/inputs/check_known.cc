#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/inputs/elements.h"
#include "graphnet/interp/inputs/example_input.h"
#include "graphnet/ir/annotation.h"

namespace graphnet {

absl::Status CheckKnown(const Sample& sample) {
  for (const Node* node : sample.module->main()->placeholders()) {
    const std::string name = Printable(node->target());
    if (sample.weights.contains(std::string(node->target())) || NumberDType(node->annotation()))
      continue;
    if (TakesSeveralKinds(node->annotation())) {
      if (TakesNone(node->annotation()) || node->tensor_meta() != nullptr ||
          !ElementsOf(sample.weights, node->target()).empty())
        continue;
      return absl::InvalidArgumentError(
          absl::StrCat("input ", name, ", a ", Printable(node->annotation()),
                       ": its value is not known; give it, for example --input ", name, "=1"));
    }
    const bool has_data = node->draw_spec() != nullptr && node->draw_spec()->data.is_list();
    if (IsText(node->annotation())) {
      if (has_data || absl::StartsWith(node->annotation(), "Optional[")) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("input ", name, ": its text is not known; give it, for example --input ",
                       name, "=str=sum"));
    }
    if (IsStructure(node->annotation())) {
      if (has_data || !ElementsOf(sample.weights, node->target()).empty() ||
          absl::StartsWith(node->annotation(), "Optional["))
        continue;
      return absl::InvalidArgumentError(
          absl::StrCat("input ", name, ", a ", Printable(node->annotation()),
                       ": its elements are not known; give them, for example --input '", name,
                       "=list(f32[2,3],f32[4])'"));
    }
    const TensorMeta* meta = node->tensor_meta();
    if ((node->meta() != nullptr && node->meta()->is_tuple) ||
        (meta != nullptr && meta->has_shape) || absl::StartsWith(node->annotation(), "Optional["))
      continue;
    return absl::InvalidArgumentError(absl::StrCat("input ", name,
                                                   ": its shape is not known; give it, for example "
                                                   "--input ",
                                                   name, "=f32[1,3,224,224]"));
  }
  return absl::OkStatus();
}

}  // namespace graphnet

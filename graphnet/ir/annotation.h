// Annotations (Node::annotation, Attribute::annotation), in the words of GraphNet's samples and
// of TorchScript.
#ifndef GRAPHNET_IR_ANNOTATION_H_
#define GRAPHNET_IR_ANNOTATION_H_

#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graphnet/ir/types.h"

namespace graphnet {

// The annotation of a parameter, which a model learns.
inline constexpr absl::string_view kParameterAnnotation = "torch.nn.parameter.Parameter";

// Returns the dtype of an input that is a number; nullopt for other inputs.
inline std::optional<DType> NumberDType(absl::string_view annotation) {
  if (annotation == "torch.SymInt" || annotation == "int") return DType::kInt64;
  if (annotation == "torch.SymFloat" || annotation == "float") return DType::kFloat64;
  if (annotation == "torch.SymBool" || annotation == "bool") return DType::kBool;
  return std::nullopt;
}

// Returns whether an input is a list, tuple or dict in TorchScript's notation. Its elements are
// named "input.0", "input.1" or "input.key", and so on for the elements of those.
inline bool IsStructure(absl::string_view annotation) {
  absl::ConsumePrefix(&annotation, "Optional[");
  return absl::StartsWith(annotation, "List[") || absl::StartsWith(annotation, "Tuple[") ||
         absl::StartsWith(annotation, "Dict[");
}

}  // namespace graphnet

#endif  // GRAPHNET_IR_ANNOTATION_H_

// The annotation (Node::annotation, Attribute::annotation) of what a model learns, as
// GraphNet's samples write it.
#ifndef GRAPHNET_IR_ANNOTATION_H_
#define GRAPHNET_IR_ANNOTATION_H_

#include "absl/strings/string_view.h"

namespace graphnet {

inline constexpr absl::string_view kParameterAnnotation = "torch.nn.parameter.Parameter";

}  // namespace graphnet

#endif  // GRAPHNET_IR_ANNOTATION_H_

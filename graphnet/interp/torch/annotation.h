// Converts annotations of the IR to LibTorch's types.
#ifndef GRAPHNET_INTERP_TORCH_ANNOTATION_H_
#define GRAPHNET_INTERP_TORCH_ANNOTATION_H_

#include <memory>

#include "ATen/core/jit_type.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace torch::jit {
struct Resolver;
}  // namespace torch::jit

namespace graphnet {

// Parses an annotation such as "torch.Tensor", "torch.SymInt" or "List[Tensor]". `classes` resolves
// other names. InvalidArgument if TorchScript has no such type.
absl::StatusOr<c10::TypePtr> ParseAnnotation(
    absl::string_view annotation, const std::shared_ptr<torch::jit::Resolver>& classes = nullptr);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_TORCH_ANNOTATION_H_

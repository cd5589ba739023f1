// Annotations of the IR as LibTorch's types.
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

// "torch.Tensor", "torch.SymInt", "List[Tensor]". `classes` says what other names mean.
// InvalidArgument for what TorchScript has no type for.
absl::StatusOr<c10::TypePtr> ParseAnnotation(
    absl::string_view annotation, const std::shared_ptr<torch::jit::Resolver>& classes = nullptr);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_TORCH_ANNOTATION_H_

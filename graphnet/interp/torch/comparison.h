// Whether values have the same bits, and by how much tensors differ.
#ifndef GRAPHNET_INTERP_TORCH_COMPARISON_H_
#define GRAPHNET_INTERP_TORCH_COMPARISON_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "ATen/core/ivalue.h"
#include "absl/status/statusor.h"
#include "graphnet/interp/run_report.h"

namespace graphnet {

// The elements of a tensor, row-major, dense, on the CPU, without a graph of gradients:
// quantised ones as the numbers that they stand for, those of a nested tensor one after the
// other. Not for a tensor that IsReadable refuses.
at::Tensor PlainTensor(const at::Tensor& tensor);

// Whether a tensor has elements of its own. An undefined one has none, nor has one that is
// batched by a level of vmap which is still open, or lies on the meta device.
bool IsReadable(const at::Tensor& tensor);

// A number for what a value is: dtype, sizes and bits of a tensor, bits of a number. Nothing
// for other values, and for tensors that cannot be read.
std::optional<size_t> DigestOf(const c10::IValue& value);

// Of readable tensors of the same sizes, as doubles (complex numbers by their distance). Errors
// of LibTorch.
absl::StatusOr<TensorDifference> DifferenceOf(const at::Tensor& a, const at::Tensor& b);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_TORCH_COMPARISON_H_

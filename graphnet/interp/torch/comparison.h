// Compares values: their bits, and by how much tensors differ.
#ifndef GRAPHNET_INTERP_TORCH_COMPARISON_H_
#define GRAPHNET_INTERP_TORCH_COMPARISON_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "ATen/core/ivalue.h"
#include "absl/status/statusor.h"
#include "graphnet/interp/run_report.h"

namespace graphnet {

// Returns the elements of a tensor, row-major, dense, on the CPU, without a gradient graph.
// Quantised elements become the numbers that they stand for; tensors in a nested tensor follow
// each other. IsReadable must be true for `tensor`.
at::Tensor PlainTensor(const at::Tensor& tensor);

// Returns `plain`, which PlainTensor has made of `tensor`, in memory of its own: later calls may write to
// the tensor.
at::Tensor OwnMemory(const at::Tensor& plain, const at::Tensor& tensor);

// Returns the numbers of a tensor as doubles, two for a complex element.
at::Tensor DoublesOf(const at::Tensor& tensor);

// Returns true if a tensor has elements that can be read. It has none if it is undefined, on the
// meta device, or batched by a level of vmap that is still open.
bool IsReadable(const at::Tensor& tensor);

// Returns a hash of a value: of dtype, sizes and bits of a tensor, or of the bits of a number;
// nullopt for other values and for tensors that cannot be read.
std::optional<size_t> DigestOf(const c10::IValue& value);

// Returns how readable tensors of the same sizes differ, as doubles (complex numbers by their
// distance). Fails with errors of LibTorch.
// `beyond` counts by `tolerance`.
absl::StatusOr<TensorDifference> DifferenceOf(const at::Tensor& a, const at::Tensor& b,
                                              const Tolerance& tolerance = {});

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_TORCH_COMPARISON_H_

// Reads and writes tensors in the safetensors format (github.com/huggingface/safetensors): the size
// of a header in eight bytes, the header in JSON, and the tensors' bytes without gaps.
//
//   {"layer.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
//
// The elements of the format are row-major. A tensor that is run with other strides has them in
// the metadata of the file, which other programs ignore:
//
//   "__metadata__": {"graphnet.strides.layer.weight": "1,2"}
//
// The format has no complex32 and complex128. Their elements are pairs of real and imaginary parts,
// as torch.view_as_real has them, and the metadata say so:
//
//   {"w": {"dtype": "F64", "shape": [3, 2], …}, "__metadata__": {"graphnet.dtype.w": "complex128"}}
#ifndef GRAPHNET_FORMATS_SAFETENSORS_SAFETENSORS_H_
#define GRAPHNET_FORMATS_SAFETENSORS_SAFETENSORS_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/file.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// The limit of the reference implementation.
inline constexpr size_t kMaxSafetensorsHeaderBytes = 100'000'000;

// Returns the bytes of a file. Equal tensors give equal bytes. Wider elements come first, so that
// each tensor is aligned to its elements; tensors of equal width are sorted by name.
// InvalidArgument if the format lacks a tensor's dtype, such as the quantised ones, or if a tensor's
// bytes do not fit its shape.
absl::StatusOr<std::string> SerializeSafetensors(const std::map<std::string, TensorData>& tensors);
// Like SerializeSafetensors, but passes the bytes to `sink` tensor by tensor, so that only one
// tensor of a mapped file is in memory at a time. The sink gets nothing if a tensor is refused.
absl::Status StreamSafetensors(const std::map<std::string, TensorData>& tensors,
                               const ByteSink& sink);

// Returns the tensors in `bytes`. InvalidArgument unless the tensors fill the data exactly, in any
// order, with the sizes that their dtypes and shapes need, all names differ, and all fields are
// those of the format. Ignores `__metadata__` but for strides and pairs. Messages call the input `name`.
absl::StatusOr<std::map<std::string, TensorData>> ParseSafetensors(absl::string_view bytes,
                                                                   absl::string_view name);

absl::Status WriteSafetensorsFile(const std::map<std::string, TensorData>& tensors,
                                  const std::string& path);
// Reads a file tensor by tensor, so that the file and the tensors are never both in memory. A large
// file is mapped instead: its tensors take memory when they are read, and it must not be truncated
// while they live. Calls `see` with all bytes of a valid file in order, for a checksum.
absl::StatusOr<std::map<std::string, TensorData>> ReadSafetensorsFile(
    const std::string& path,
    absl::FunctionRef<void(absl::string_view)> see = [](absl::string_view) {});

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_SAFETENSORS_SAFETENSORS_H_

// Tensors in the safetensors format (github.com/huggingface/safetensors): the
// size of a header in eight bytes, the header in JSON, and the tensors' bytes
// without gaps.
//
//   {"layer.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
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

// As in the reference implementation.
inline constexpr size_t kMaxSafetensorsHeaderBytes = 100'000'000;

// Equal tensors give equal bytes. Wider elements come first, so that each tensor
// is aligned to its elements, and within a width the names are in order.
// InvalidArgument for a tensor whose dtype the format lacks (the complex128 and
// quantized ones) or whose bytes do not fit its shape.
absl::StatusOr<std::string> SerializeSafetensors(const std::map<std::string, TensorData>& tensors);
// Ditto, tensor by tensor. Of tensors that lie in a file that is mapped no more than one is in
// memory. What cannot be written is found before the sink is given anything.
absl::Status StreamSafetensors(const std::map<std::string, TensorData>& tensors,
                               const ByteSink& sink);

// Strict: the tensors must fill the data exactly, in any order, and be as long as
// dtype and shape say; no name twice; no field but those of the format. What
// `__metadata__` says is left out. `name` is what messages call the input.
absl::StatusOr<std::map<std::string, TensorData>> ParseSafetensors(absl::string_view bytes,
                                                                   absl::string_view name);

absl::Status WriteSafetensorsFile(const std::map<std::string, TensorData>& tensors,
                                  const std::string& path);
// Reads tensor by tensor: the file is never in memory as a whole beside them. A large one is mapped
// instead, so that its tensors take memory when they are looked at; nobody may cut it meanwhile.
// `see` is shown all bytes of a good file in order, as for a checksum.
absl::StatusOr<std::map<std::string, TensorData>> ReadSafetensorsFile(
    const std::string& path,
    absl::FunctionRef<void(absl::string_view)> see = [](absl::string_view) {});

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_SAFETENSORS_SAFETENSORS_H_

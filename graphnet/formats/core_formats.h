// The formats that every program has.
#ifndef GRAPHNET_FORMATS_CORE_FORMATS_H_
#define GRAPHNET_FORMATS_CORE_FORMATS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/formats.h"

namespace graphnet {

// Returns them in the order in which they are asked about a file.
std::vector<Format> CoreFormats();

// Passes `bytes` to `sink`, or returns their error.
absl::Status PassTo(const ByteSink& sink, const absl::StatusOr<std::string>& bytes);

// Appends advice to an Unimplemented error of writing a GraphNet folder: a protobuf can hold the
// sample. Returns any other status unchanged.
absl::Status WithFolderAdvice(const absl::Status& status);

// Writes the text of a program to `path` and its tensors to the file `beside`. A failure never
// leaves an old program next to new tensors.
absl::Status SaveWithTensors(absl::string_view program, const std::string& path,
                             const std::map<std::string, TensorData>& tensors,
                             const std::string& beside);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_CORE_FORMATS_H_

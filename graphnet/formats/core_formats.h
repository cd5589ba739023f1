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

// In the order in which they are asked about a file.
std::vector<Format> CoreFormats();

// Passes all bytes to `sink`, or returns the error in their place.
absl::Status PassTo(const ByteSink& sink, const absl::StatusOr<std::string>& bytes);

// An error of a GraphNet folder that cannot hold a sample, with the format that can.
absl::Status WithFolderAdvice(const absl::Status& status);

// Writes the text of a program to `path` and its tensors to `beside`, both or none of them.
absl::Status SaveWithTensors(absl::string_view program, const std::string& path,
                             const std::map<std::string, TensorData>& tensors,
                             const std::string& beside);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_CORE_FORMATS_H_

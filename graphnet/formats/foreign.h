// Inputs that hold no graph which graphnet reads: what they are, and what helps.
#ifndef GRAPHNET_FORMATS_FOREIGN_H_
#define GRAPHNET_FORMATS_FOREIGN_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace graphnet {

// Describes a file that begins with `head`, its first 4 KiB: "an ONNX model; …". Empty if nothing
// is known of it.
std::string DescribeForeignFile(absl::string_view head);

// Describes a whole zip archive that holds no program: a state_dict, an AOTInductor package. Empty
// if it may hold one, or is damaged.
std::string DescribeForeignArchive(absl::string_view bytes);

// Describes a folder with files of these names that is no sample. Empty if nothing is known of it.
std::string DescribeForeignFolder(const std::vector<std::string>& names);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_FOREIGN_H_

// Describes inputs that hold no graph that graphnet can read, and says how to get one that does.
#ifndef GRAPHNET_FORMATS_FOREIGN_H_
#define GRAPHNET_FORMATS_FOREIGN_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace graphnet {

// Describes a file by `head`, its first 4 KiB: "an ONNX model; …". Empty if the file is of no known
// kind.
std::string DescribeForeignFile(absl::string_view head);

// Describes a zip archive, given as a whole, that holds no program, such as a state_dict or an
// AOTInductor package. Empty if it may hold a program, or is damaged.
std::string DescribeForeignArchive(absl::string_view bytes);

// Describes a folder that is not a sample by the names of its files. Empty if it is of no known
// kind.
std::string DescribeForeignFolder(const std::vector<std::string>& names);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_FOREIGN_H_

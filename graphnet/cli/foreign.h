// Files that hold no graph which graphnet reads: what they are, and what helps.
#ifndef GRAPHNET_CLI_FOREIGN_H_
#define GRAPHNET_CLI_FOREIGN_H_

#include <string>

#include "absl/strings/string_view.h"

namespace graphnet {

// Of a file that begins with `head`: "an ONNX model; …", or empty if nothing is known of it.
std::string DescribeForeignFile(absl::string_view head);

// Of a whole zip archive that is no TorchScript: what torch.save or torch.export wrote; empty
// if it is something else or damaged.
std::string DescribeForeignArchive(absl::string_view bytes);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_FOREIGN_H_

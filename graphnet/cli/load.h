// Finding and loading inputs, whatever their format: recognised by content, not
// by name.
#ifndef GRAPHNET_CLI_LOAD_H_
#define GRAPHNET_CLI_LOAD_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

enum class Format { kGraphNetFolder, kProtobuf, kText, kTorchScript };
const char* FormatName(Format format);

struct LoadOptions {
  // Lets a TorchScript archive pass without the gate (formats/torchscript/gate.h).
  bool trust = false;
  // Whether real values of attributes are loaded too.
  bool weights = false;
};

// NotFound if there is nothing at `path`, InvalidArgument if it is of no known
// format. What "-", the standard input, holds is to be text.
absl::StatusOr<Format> RecogniseFormat(const std::string& path);

// The verified sample at `path`; for "-", the text on the standard input. Text may be a
// fragment (graphnet/text/parser.h).
absl::StatusOr<Sample> LoadSample(const std::string& path, const LoadOptions& options = {});

// All inputs under `paths`, sorted within each: a path that is an input itself, "-"
// too, or, in a folder of samples, every sample folder (not looked into further) and
// every file of a known format.
absl::StatusOr<std::vector<std::string>> FindInputs(const std::vector<std::string>& paths);
// Whether it is a folder, but not a sample itself.
bool IsFolderOfSamples(const std::string& path);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_LOAD_H_

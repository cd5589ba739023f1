// Finding and loading inputs, whatever their format: recognised by content, not
// by name.
#ifndef GRAPHNET_CLI_LOAD_H_
#define GRAPHNET_CLI_LOAD_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

enum class Format { kGraphNetFolder, kProtobuf, kText, kTorchScript, kPt2, kPir };

struct LoadOptions {
  // Lets a TorchScript archive pass without the gate (formats/torchscript/gate.h).
  bool trust = false;
  // Whether real values of attributes are loaded too.
  bool weights = false;
  // Whether attributes and inputs of which nothing is said are described by their values, for who
  // writes a form that cannot hold those.
  bool statistics = false;
};

// NotFound if there is nothing at `path`, InvalidArgument if it is of no known
// format.
absl::StatusOr<Format> RecogniseFormat(const std::string& path);

// FailedPrecondition if the standard input, which can be read once, has been asked for before.
absl::Status TakeStandardInput();

// "m.pt2#encoder" is the program encoder of an archive of torch.export that holds several.
//
// The verified sample at `path`; for "-", on the standard input, which is read once. Text may be
// a fragment (graphnet/text/parser.h).
absl::StatusOr<Sample> LoadSample(const std::string& path, const LoadOptions& options = {});

// All inputs under `paths`, sorted within each: a path that is an input itself, "-"
// too, or, in a folder of samples, every sample folder (not looked into further) and
// every file of a known format. Of an archive with several programs each is one.
absl::StatusOr<std::vector<std::string>> FindInputs(const std::vector<std::string>& paths);
// Whether it is a folder, but not a sample itself.
bool IsFolderOfSamples(const std::string& path);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_LOAD_H_

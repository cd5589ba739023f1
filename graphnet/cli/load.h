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
  // Real values where there are any, for those who write a form without them and say so.
  bool values_if_there = false;
  // Whether attributes and inputs of which nothing is said are described by their values, for who
  // writes a form that cannot hold those.
  bool statistics = false;
};

// The format of what is at `path`. The error says what it is else, and is unusable.
absl::StatusOr<Format> RecogniseFormat(const std::string& path);

// Whether an error says that there is no input: nothing is at its path, or something that holds
// no program. Every command exits with 2 then.
bool IsUnusable(const absl::Status& status);

// FailedPrecondition if the standard input, which can be read once, has been asked for before.
absl::Status TakeStandardInput();

// "m.pt2#encoder" is the program encoder of an archive of torch.export that holds several.
//
// The verified sample at `path`; for "-", on the standard input, which is read once. Text may be
// a fragment (graphnet/text/parser.h).
absl::StatusOr<Sample> LoadSample(const std::string& path, const LoadOptions& options = {});

// All inputs under `paths`, sorted within each: a path that is an input itself, "-"
// too, or, in a folder of samples, every sample folder (not looked into further), every link to
// one, and every file of a known format. Of an archive with several programs each is one.
// A path that cannot be used is an error if it is the only one. Beside others it is an input,
// which cannot be loaded, as is a folder below that cannot be listed.
absl::StatusOr<std::vector<std::string>> FindInputs(const std::vector<std::string>& paths);
// Whether it is a folder, but not a sample itself.
bool IsFolderOfSamples(const std::string& path);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_LOAD_H_

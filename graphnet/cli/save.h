// The outputs of commands: where they write samples, and in which format.
#ifndef GRAPHNET_CLI_SAVE_H_
#define GRAPHNET_CLI_SAVE_H_

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/formats.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

struct Losses;  // losses.h

// What an option that names a file to write says of it: all endings, and what they are.
std::string TargetHelp();
// The same, where IN may be a folder of samples.
std::string TargetsHelp();

// Where a command writes a sample, and as what.
struct Output {
  std::string path;             // empty: nowhere; "-": on the standard output
  std::string to;               // the format that --to names; empty: none
  bool embeds_weights = false;  // in a protobuf, not beside it

  // What --to says, or the ending of the path: a GraphNet folder if it has none of
  // them, text if it is "-".
  const Format& format() const;
  bool is(absl::string_view name) const { return format().name == name; }
  // Whether real values are written: protobuf and MLIR have them beside them, PyTorch's archives
  // and ONNX within.
  bool keeps_weights() const {
    return format().keeps_weights && (!is("protobuf") || path != "-" || embeds_weights);
  }
  // Where the command says what it did: where the sample does not go.
  FILE* report() const { return path == "-" ? stderr : stdout; }
};

// ".pb"; empty for a folder.
std::string EndingOf(const Format& format);

// -o, and --to, which names the format whatever the file is called; `also` are names
// that -o has besides.
CLI::Option* AddOutputOptions(CLI::App* command, Output* output, const std::string& also = "",
                              const std::string& help = TargetHelp());

// ".json" of "a/b.json", the ending that a file is called by; empty without one. A folder may be
// called "resnext50.a1_in1k" or "opt-1.5b", which are no endings.
std::string EndingOfFile(absl::string_view path);

// What cannot be written, before there is anything to write: a folder on the standard output,
// bytes on a terminal, an ending of no format.
absl::Status CheckOutput(const Output& output);
// Counts in `losses` what the form has no place for; without it, says so on the standard error.
absl::Status SaveSample(const Sample& sample, const Output& output, Losses* losses = nullptr);

// Where each of `inputs`, the samples below the folder `root`, goes: to the same path below
// `output`, with the ending of the format, which is the sample's own if --to names none.
// InvalidArgument if two would go to one place.
absl::StatusOr<std::map<std::string, Output>> OutputsOf(const std::vector<std::string>& inputs,
                                                        const std::string& root,
                                                        const Output& output);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_SAVE_H_

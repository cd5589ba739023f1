// The outputs of commands: where to write samples, and in which format.
#ifndef GRAPHNET_COMMAND_SAVE_H_
#define GRAPHNET_COMMAND_SAVE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/command/command_line.h"
#include "graphnet/command/inputs.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/losses.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Returns the help of an option that names the output: all endings with their formats.
std::string TargetHelp();
// Like TargetHelp, for commands whose IN may be a folder of samples.
std::string TargetsHelp();

// The place and the format in which a command writes a sample.
struct Output {
  std::string path;             // empty: none; "-": the standard output
  std::string to;               // the format that --to names; empty: not given
  bool embeds_weights = false;  // puts weights in the protobuf, not beside it
  // The seed with which the example inputs of a .pt2 are drawn that are not known; nullopt: not at all.
  std::optional<uint64_t> example_seed = 0;

  // Returns the format of --to, otherwise that of the ending of the path. Without a known ending
  // it is a GraphNet folder, for "-" text.
  const Format& format() const;
  bool is(absl::string_view name) const { return format().name == name; }
  // Returns whether values of weights are written: beside the file for protobuf and MLIR, inside it
  // for PyTorch's archives and ONNX.
  bool keeps_weights() const {
    return format().keeps_weights && (!is("protobuf") || path != "-" || embeds_weights);
  }
};

// Returns the ending of a format, such as ".pb"; empty for a folder.
std::string EndingOf(const Format& format);

// Adds -o, and --to, which overrides the format of the file's ending. `also` has more names for -o.
Option AddOutputOptions(CommandLine& command, Output* output, const std::string& also = "",
                        const std::string& help = TargetHelp());

// Returns the ending of a file's name, ".json" for "a/b.json"; empty if there is none. Names of
// folders such as "resnext50.a1_in1k" and "opt-1.5b" do not have an ending.
std::string EndingOfFile(absl::string_view path);

// Returns what is lost when the sample is written to `output`.
Losses LossesOf(const Sample& sample, const Output& output);
// Returns notes: what was lost, and that protobuf keeps it; and that example inputs were drawn. Empty if
// nothing was.
std::string LossNote(const Losses& losses, const Output& output);

// Refuses outputs that cannot be written, before the work begins: a folder to the standard output,
// bytes to a terminal, an unknown ending.
absl::Status CheckOutput(const Output& output);
// Writes a sample. `losses` receives what the format cannot hold; if it is null, a note on the
// standard error says so.
absl::Status SaveSample(const Sample& sample, const Output& output, Losses* losses = nullptr);

// Returns the output of each of several inputs, by its path: OUT/NAME with the ending of the format.
// Without --to, that is the format of the input. InvalidArgument if two inputs would get the same
// output, if the output is the standard output, or if --out names a file.
absl::StatusOr<std::map<std::string, Output>> OutputsOf(const std::vector<NamedInput>& inputs,
                                                        const Output& output);

// Returns whether the output is there, and whole, as everything is that SaveSample has written.
bool IsThere(const Output& output);

}  // namespace graphnet

#endif  // GRAPHNET_COMMAND_SAVE_H_

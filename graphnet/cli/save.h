// Writing a sample in the format asked for.
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
#include "graphnet/ir/sample.h"

namespace graphnet {

struct Losses;  // losses.h

enum class Target {
  kAuto,
  kProtobuf,
  kText,
  kFolder,
  kDot,
  kTorchScript,
  kPt2,
  kMlir,
  kOnnx,
  kPaddle  // a GraphNet folder of Paddle's calls
};

// ".pb"; empty for a folder.
const char* EndingOf(Target target);

// Of an option that names what to write.
inline constexpr char kTargetHelp[] =
    "What to write: *.pb protobuf, *.txt or *.gn text, *.dot Graphviz, *.pt TorchScript, *.pt2 "
    "torch.export, *.mlir the torch dialect of MLIR, *.onnx ONNX, - the standard output, as text "
    "if "
    "--to says nothing else, else a GraphNet "
    "folder";
// Ditto, where IN may be a folder of samples.
inline constexpr char kTargetsHelp[] =
    "What to write: *.pb protobuf, *.txt or *.gn text, *.dot Graphviz, *.pt TorchScript, *.pt2 "
    "torch.export, *.mlir the torch dialect of MLIR, - the standard output, as text if --to says "
    "nothing else, else a GraphNet "
    "folder; of a folder of samples, the folder for all";

// Where a command writes a sample, and as what.
struct Output {
  std::string path;  // empty: nowhere; "-": on the standard output
  Target target = Target::kAuto;
  bool embeds_weights = false;  // in a protobuf, not beside it

  // What --to says, or the ending of the path: a GraphNet folder if it has none of
  // them, text if it is "-".
  Target format() const;
  bool is_folder() const { return format() == Target::kFolder || format() == Target::kPaddle; }
  // Whether real values are written: protobuf and MLIR have them beside them, PyTorch's archives
  // and ONNX within.
  bool keeps_weights() const {
    return (format() == Target::kProtobuf && (path != "-" || embeds_weights)) ||
           format() == Target::kTorchScript || format() == Target::kPt2 ||
           format() == Target::kMlir || format() == Target::kOnnx;
  }
  // Where the command says what it did: where the sample does not go.
  FILE* report() const { return path == "-" ? stderr : stdout; }
};

// -o, and --to, which names the format whatever the file is called; `also` are names
// that -o has besides.
CLI::Option* AddOutputOptions(CLI::App* command, Output* output, const std::string& also = "",
                              const std::string& help = kTargetHelp);

// Where a sample of Paddle cannot be made, Unimplemented says which calls are in the way.
//
// ".json" of "a/b.json", the ending that a file is called by; empty without one. A folder may be
// called "resnext50.a1_in1k" or "opt-1.5b", which are no endings.
std::string EndingOfFile(absl::string_view path);

// What cannot be written, before there is anything to write: a folder on the standard output,
// bytes on a terminal, an ending of no format.
absl::Status CheckOutput(const Output& output);
// Counts in `losses` what the form has no place for; without it, says so on the standard error.
absl::Status SaveSample(const Sample& sample, const Output& output, Losses* losses = nullptr);

// An error of a GraphNet folder that cannot hold a sample, with the format that can.
absl::Status WithFolderAdvice(const absl::Status& status);

// Where each of `inputs`, the samples below the folder `root`, goes: to the same path below
// `output`, with the ending of the format, which is the sample's own if --to names none.
// InvalidArgument if two would go to one place.
absl::StatusOr<std::map<std::string, Output>> OutputsOf(const std::vector<std::string>& inputs,
                                                        const std::string& root,
                                                        const Output& output);

// Writes the text of a program to `path` and its tensors to `beside`, both or none of them.
absl::Status SaveWithTensors(absl::string_view program, const std::string& path,
                             const std::map<std::string, TensorData>& tensors,
                             const std::string& beside);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_SAVE_H_

// Writing a sample in the format asked for.
#ifndef GRAPHNET_CLI_SAVE_H_
#define GRAPHNET_CLI_SAVE_H_

#include <cstdio>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

enum class Target { kAuto, kProtobuf, kText, kFolder, kDot, kTorchScript };

// Of an option that names what to write.
inline constexpr char kTargetHelp[] =
    "What to write: *.pb protobuf, *.txt or *.gn text, *.dot Graphviz, *.pt TorchScript, - text on "
    "the standard output, else a GraphNet folder";

// Where a command writes a sample, and as what.
struct Output {
  std::string path;  // empty: nowhere; "-": on the standard output, text or Graphviz
  Target target = Target::kAuto;

  // What --to says, or the ending of the path: a GraphNet folder if it has none of
  // them, text if it is "-".
  Target format() const;
  // Whether the format keeps real values: protobuf, which puts them beside it, and
  // TorchScript.
  bool keeps_weights() const {
    return format() == Target::kProtobuf || format() == Target::kTorchScript;
  }
  // Where the command says what it did: where the sample does not go.
  FILE* report() const { return path == "-" ? stderr : stdout; }
};

// -o, and --to, which names the format whatever the file is called; `also` are names
// that -o has besides.
CLI::Option* AddOutputOptions(CLI::App* command, Output* output, const std::string& also = "",
                              const std::string& help = kTargetHelp);

absl::Status SaveSample(const Sample& sample, const Output& output);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_SAVE_H_

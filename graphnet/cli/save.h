// Writing a sample in the format asked for.
#ifndef GRAPHNET_CLI_SAVE_H_
#define GRAPHNET_CLI_SAVE_H_

#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

enum class Target { kAuto, kProtobuf, kText, kFolder, kDot, kTorchScript };

// Of an option that names what to write.
inline constexpr char kTargetHelp[] =
    "What to write: *.pb protobuf, *.txt or *.gn text, *.dot Graphviz, *.pt TorchScript, else a "
    "GraphNet folder";

// --to, which names the format whatever the file is called.
void AddTargetOption(CLI::App* command, Target* target);

// By the ending of the name; a GraphNet folder if it has none of them.
Target TargetOfName(absl::string_view path);
// Whether the format keeps real values: protobuf, which puts them beside it, and
// TorchScript.
bool KeepsWeights(Target target);

absl::Status SaveSample(const Sample& sample, const std::string& path, Target target);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_SAVE_H_

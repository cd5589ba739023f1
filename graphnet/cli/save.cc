#include "graphnet/cli/save.h"

#include <map>
#include <string>

#include "absl/strings/match.h"
#include "graphnet/base/file.h"
#include "graphnet/cli/options.h"
#include "graphnet/formats/dot/dot_writer.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/formats/torchscript/exporter.h"
#include "graphnet/proto/sample_proto.h"
#include "graphnet/text/printer.h"

namespace graphnet {

void AddTargetOption(CLI::App* command, Target* target) {
  const std::map<std::string, Target> targets = {{"protobuf", Target::kProtobuf},
                                                 {"text", Target::kText},
                                                 {"graphnet", Target::kFolder},
                                                 {"dot", Target::kDot},
                                                 {"torchscript", Target::kTorchScript}};
  AddChoiceOption(command, "--to", target, targets, "The format to write, whatever OUT is called");
}

Target TargetOfName(absl::string_view path) {
  if (absl::EndsWith(path, ".pb")) return Target::kProtobuf;
  if (absl::EndsWith(path, ".txt") || absl::EndsWith(path, ".gn")) return Target::kText;
  if (absl::EndsWith(path, ".dot") || absl::EndsWith(path, ".gv")) return Target::kDot;
  if (absl::EndsWith(path, ".pt")) return Target::kTorchScript;
  return Target::kFolder;
}

bool KeepsWeights(Target target) {
  return target == Target::kProtobuf || target == Target::kTorchScript;
}

absl::Status SaveSample(const Sample& sample, const std::string& path, Target target) {
  switch (target == Target::kAuto ? TargetOfName(path) : target) {
    case Target::kProtobuf: return WriteSampleFile(sample, path);
    case Target::kText: return WriteFileAtomic(path, PrintSample(sample));
    case Target::kDot: return WriteFileAtomic(path, WriteDot(*sample.module));
    case Target::kTorchScript: return ExportTorchScript(sample, path);
    default: return WriteGraphNetFolder(sample, path);
  }
}

}  // namespace graphnet

#include "graphnet/cli/convert.h"

#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/load.h"
#include "graphnet/formats/dot/dot_writer.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/formats/torchscript/exporter.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/lift_attributes.h"
#include "graphnet/proto/sample_proto.h"
#include "graphnet/text/printer.h"

namespace graphnet {
namespace {

enum class Target { kAuto, kProtobuf, kText, kFolder, kDot, kTorchScript };

struct Options {
  std::string in;
  std::string out;
  Target target = Target::kAuto;
  bool trust = false;
  bool lift = false;
};

Target TargetOfName(absl::string_view path) {
  if (absl::EndsWith(path, ".pb")) return Target::kProtobuf;
  if (absl::EndsWith(path, ".txt") || absl::EndsWith(path, ".gn")) return Target::kText;
  if (absl::EndsWith(path, ".dot") || absl::EndsWith(path, ".gv")) return Target::kDot;
  if (absl::EndsWith(path, ".pt")) return Target::kTorchScript;
  return Target::kFolder;
}

absl::StatusOr<int> Convert(const Options& options) {
  const Target target = options.target == Target::kAuto ? TargetOfName(options.out) : options.target;
  LoadOptions load;
  load.trust = options.trust;
  // Values are only kept by the protobuf form, which puts them beside it, and by TorchScript.
  load.weights = target == Target::kProtobuf || target == Target::kTorchScript;
  ASSIGN_OR_RETURN(Sample sample, LoadSample(options.in, load));
  if (options.lift) {
    RETURN_IF_ERROR(LiftAttributes(sample.module.get()).status());
    RETURN_IF_ERROR(Verify(*sample.module));
  }
  switch (target) {
    case Target::kProtobuf:
      RETURN_IF_ERROR(WriteSampleFile(sample, options.out));
      break;
    case Target::kText:
      RETURN_IF_ERROR(WriteFileAtomic(options.out, PrintSample(sample)));
      break;
    case Target::kDot:
      RETURN_IF_ERROR(WriteFileAtomic(options.out, WriteDot(*sample.module)));
      break;
    case Target::kTorchScript:
      RETURN_IF_ERROR(ExportTorchScript(sample, options.out));
      break;
    default:
      RETURN_IF_ERROR(WriteGraphNetFolder(sample, options.out));
  }
  return 0;
}

}  // namespace

void RegisterConvert(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("convert", "Convert a sample to another format");
  command->add_option("IN", options->in, "GraphNet folder, TorchScript archive, protobuf or text")->required();
  command
      ->add_option("OUT", options->out,
                   "What to write: *.pb protobuf, *.txt or *.gn text, *.dot Graphviz, "
                   "*.pt TorchScript, else a GraphNet folder")
      ->required();
  const std::map<std::string, Target> targets = {{"protobuf", Target::kProtobuf},
                                                 {"text", Target::kText},
                                                 {"graphnet", Target::kFolder},
                                                 {"dot", Target::kDot},
                                                 {"torchscript", Target::kTorchScript}};
  command->add_option("--to", options->target, "The format to write, whatever OUT is called")
      ->transform(CLI::CheckedTransformer(targets));
  command->add_flag("--trust", options->trust, "Load a TorchScript archive that the gate refuses: it can run code");
  command->add_flag("--lift", options->lift, "Make parameters and buffers arguments of the graph");
  command->callback([options, run] { *run = [options] { return Convert(*options); }; });
}

}  // namespace graphnet

#include "graphnet/cli/save.h"

#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/options.h"
#include "graphnet/formats/dot/dot_writer.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/formats/torchscript/exporter.h"
#include "graphnet/proto/sample_proto.h"
#include "graphnet/text/printer.h"

namespace graphnet {

CLI::Option* AddOutputOptions(CLI::App* command, Output* output, const std::string& also,
                              const std::string& help) {
  const std::map<std::string, Target> targets = {{"protobuf", Target::kProtobuf},
                                                 {"text", Target::kText},
                                                 {"graphnet", Target::kFolder},
                                                 {"dot", Target::kDot},
                                                 {"torchscript", Target::kTorchScript}};
  CLI::Option* out = command->add_option(absl::StrCat("-o,--out", also), output->path, help);
  AddChoiceOption(command, "--to", &output->target, targets,
                  "The format to write, whatever the output is called")
      ->needs(out);
  return out;
}

Target Output::format() const {
  if (target != Target::kAuto) return target;
  if (absl::EndsWith(path, ".pb")) return Target::kProtobuf;
  if (absl::EndsWith(path, ".txt") || absl::EndsWith(path, ".gn")) return Target::kText;
  if (absl::EndsWith(path, ".dot") || absl::EndsWith(path, ".gv")) return Target::kDot;
  if (absl::EndsWith(path, ".pt")) return Target::kTorchScript;
  return path == "-" ? Target::kText : Target::kFolder;
}

absl::Status SaveSample(const Sample& sample, const Output& output) {
  const std::string& path = output.path;
  const Target format = output.format();
  if (output.target == Target::kAuto && format == Target::kFolder) {
    // A folder may be called anything, but who says .onnx means something else.
    static constexpr absl::string_view kForeign[] = {
        ".onnx", ".json", ".pt2",    ".pth", ".py",  ".safetensors", ".pkl", ".bin",
        ".mlir", ".html", ".tflite", ".svg", ".png", ".zip",         ".gz",  ".md"};
    for (const absl::string_view ending : kForeign) {
      if (!absl::EndsWith(path, ending)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          Printable(path, 1000), ": graphnet writes .pb, .txt, .gn, .dot, .pt and folders, not ",
          ending, "; --to says which if it is to be called so"));
    }
  }
  if (path == "-" && format != Target::kText && format != Target::kDot) {
    return absl::InvalidArgumentError("the standard output takes text and Graphviz only");
  }
  switch (format) {
    case Target::kProtobuf: return WriteSampleFile(sample, path);
    case Target::kText: return WriteFileAtomic(path, PrintSample(sample));
    case Target::kDot: return WriteFileAtomic(path, WriteDot(*sample.module));
    case Target::kTorchScript: return ExportTorchScript(sample, path);
    default: return WriteGraphNetFolder(sample, path);
  }
}

}  // namespace graphnet

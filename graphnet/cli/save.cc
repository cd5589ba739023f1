#include "graphnet/cli/save.h"

#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/batch.h"
#include "graphnet/cli/export_onnx.h"
#include "graphnet/cli/export_program.h"
#include "graphnet/cli/load.h"
#include "graphnet/cli/losses.h"
#include "graphnet/cli/options.h"
#include "graphnet/cli/picture.h"
#include "graphnet/formats/graphnet_folder/paddle_sample.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/proto/sample_proto.h"
#include "graphnet/text/printer.h"

namespace graphnet {
namespace {

Target TargetOf(Format format) {
  switch (format) {
    case Format::kProtobuf: return Target::kProtobuf;
    case Format::kText: return Target::kText;
    case Format::kTorchScript: return Target::kTorchScript;
    case Format::kPt2: return Target::kPt2;
    default: return Target::kFolder;
  }
}

// The weights, arguments of the program as they are, lie beside it.
absl::Status SaveMlir(const Sample& sample, const std::string& path) {
  ASSIGN_OR_RETURN(const MlirProgram program, ExportMlirProgram(sample));
  std::map<std::string, TensorData> weights;
  for (const std::string& attribute : program.attributes) {
    const auto it = sample.weights.find(attribute);
    if (it != sample.weights.end()) weights.insert(*it);
  }
  if (weights.empty()) return WriteFileAtomic(path, program.text);
  // Not x.safetensors, which belongs to x.pb.
  return SaveWithTensors(program.text, path, weights,
                         absl::StrCat(absl::StripSuffix(path, ".mlir"), ".mlir.safetensors"));
}

absl::Status SavePt2(const Sample& sample, const std::string& path) {
  ASSIGN_OR_RETURN(const Pt2Archive archive, ExportPt2Program(sample));
  if (!archive.classes().empty()) {
    std::fprintf(stderr, "note: tuples are in the place of %s, which PyTorch alone does not know\n",
                 Printable(absl::StrJoin(archive.classes(), ", "), 1000).c_str());
  }
  if (path != "-")
    return WriteFileAtomic(path, [&](const ByteSink& sink) { return archive.WriteTo(sink); });
  return archive.WriteTo([](absl::string_view part) {
    std::fwrite(part.data(), 1, part.size(), stdout);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::string> BytesOf(const Sample& sample, Target format, bool embeds_weights) {
  switch (format) {
    case Target::kProtobuf:
      return embeds_weights ? SerializeSampleWithWeights(sample) : SerializeSample(sample);
    case Target::kDot: return DrawPicture(*sample.module, PictureForm::kDot, {});
    case Target::kMlir: {
      ASSIGN_OR_RETURN(MlirProgram program, ExportMlirProgram(sample));
      return std::move(program.text);
    }
    case Target::kTorchScript: return ExportTorchScriptProgram(sample);
    default: {
      PrintOptions options = PrintOptions::Complete();
      options.weights = false;  // They do not lie beside this text.
      return PrintSample(sample, options);
    }
  }
}

}  // namespace

absl::Status SaveWithTensors(absl::string_view program, const std::string& path,
                             const std::map<std::string, TensorData>& tensors,
                             const std::string& beside) {
  const auto write = [&](const ByteSink& sink) { return StreamSafetensors(tensors, sink); };
  ASSIGN_OR_RETURN(StagedFile tensors_file, StagedFile::Write(beside, write));
  ASSIGN_OR_RETURN(StagedFile program_file, StagedFile::Write(path, program));
  // An older program must not be seen beside these tensors, not even after a kill.
  std::remove(path.c_str());
  RETURN_IF_ERROR(tensors_file.Commit());
  return program_file.Commit();
}

CLI::Option* AddOutputOptions(CLI::App* command, Output* output, const std::string& also,
                              const std::string& help) {
  const std::map<std::string, Target> targets = {
      {"protobuf", Target::kProtobuf}, {"text", Target::kText},
      {"graphnet", Target::kFolder},   {"dot", Target::kDot},
      {"pt2", Target::kPt2},           {"torchscript", Target::kTorchScript},
      {"mlir", Target::kMlir},         {"onnx", Target::kOnnx},
      {"paddle", Target::kPaddle}};
  CLI::Option* out =
      command->add_option(absl::StrCat("-o,--out", also), output->path, help)->type_name("PATH");
  AddChoiceOption(command, "--to", &output->target, targets,
                  "The format to write, whatever the output is called")
      ->needs(out);
  return out;
}

const char* EndingOf(Target target) {
  switch (target) {
    case Target::kProtobuf: return ".pb";
    case Target::kText: return ".gn";
    case Target::kDot: return ".dot";
    case Target::kTorchScript: return ".pt";
    case Target::kPt2: return ".pt2";
    case Target::kMlir: return ".mlir";
    case Target::kOnnx: return ".onnx";
    default: return "";
  }
}

Target Output::format() const {
  if (target != Target::kAuto) return target;
  if (absl::EndsWith(path, ".pb")) return Target::kProtobuf;
  if (absl::EndsWith(path, ".txt") || absl::EndsWith(path, ".gn")) return Target::kText;
  if (absl::EndsWith(path, ".dot") || absl::EndsWith(path, ".gv")) return Target::kDot;
  if (absl::EndsWith(path, ".pt")) return Target::kTorchScript;
  if (absl::EndsWith(path, ".pt2")) return Target::kPt2;
  if (absl::EndsWith(path, ".mlir")) return Target::kMlir;
  if (absl::EndsWith(path, ".onnx")) return Target::kOnnx;
  return path == "-" ? Target::kText : Target::kFolder;
}

std::string EndingOfFile(absl::string_view path) {
  const size_t dot = path.rfind('.');
  if (dot == absl::string_view::npos || dot == 0 || path[dot - 1] == '/') return "";
  const absl::string_view ending = path.substr(dot + 1);
  constexpr size_t kLongest = 11;  // safetensors
  if (ending.empty() || ending.size() > kLongest ||
      !absl::ascii_isalpha(static_cast<unsigned char>(ending[0])))
    return "";
  const bool is_word = absl::c_all_of(
      ending, [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); });
  return is_word ? absl::StrCat(".", ending) : "";
}

absl::Status CheckOutput(const Output& output) {
  const std::string& path = output.path;
  const Target format = output.format();
  if (path == "-") {
    if (output.is_folder())
      return absl::InvalidArgumentError(
          "a folder cannot go to the standard output; --out names it");
    const bool is_binary = format == Target::kProtobuf || format == Target::kTorchScript ||
                           format == Target::kPt2 || format == Target::kOnnx;
    if (is_binary && isatty(STDOUT_FILENO) == 1)
      return absl::InvalidArgumentError("a terminal shows no protobuf and no archives");
  }
  // Before what takes time.
  if (format == Target::kOnnx) return CheckOnnxExporter();
  if (output.target != Target::kAuto || format != Target::kFolder) return absl::OkStatus();
  const std::string ending = EndingOfFile(path);
  if (ending.empty() || IsFolder(path)) return absl::OkStatus();
  const bool is_picture = PictureFormOf(path).has_value() && ending != ".json";
  return absl::InvalidArgumentError(absl::StrCat(
      Printable(path, 1000),
      ": graphnet writes .pb, .txt, .gn, .dot, .pt, .pt2, .mlir, .onnx and folders, not ", ending,
      is_picture ? "; graphnet show IN -o FILE draws it"
                 : "; --to says which if it is to be called so"));
}

namespace {

absl::Status Save(const Sample& sample, const Output& output) {
  RETURN_IF_ERROR(CheckOutput(output));
  if (output.format() == Target::kFolder)
    return WithFolderAdvice(WriteGraphNetFolder(sample, output.path));
  if (output.format() == Target::kPaddle) {
    ASSIGN_OR_RETURN(const PaddleSample made, MakePaddleSample(sample));
    if (!made.is_whole()) {
      return absl::UnimplementedError(
          absl::StrCat("no calls of Paddle: ", LeftCalls(made.coverage)));
    }
    return WriteGraphNetFolder(made.sample, output.path);
  }
  // With its weights beside it.
  if (output.format() == Target::kProtobuf && output.path != "-" && !output.embeds_weights)
    return WriteSampleFile(sample, output.path);
  if (output.format() == Target::kMlir && output.path != "-") return SaveMlir(sample, output.path);
  if (output.format() == Target::kPt2) return SavePt2(sample, output.path);
  if (output.format() == Target::kOnnx) return ExportOnnx(sample, output.path);
  ASSIGN_OR_RETURN(const std::string bytes,
                   BytesOf(sample, output.format(), output.embeds_weights));
  if (output.path != "-") return WriteFileAtomic(output.path, bytes);
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  return absl::OkStatus();
}

}  // namespace

absl::Status WithFolderAdvice(const absl::Status& status) {
  if (!absl::IsUnimplemented(status)) return status;
  return absl::UnimplementedError(
      absl::StrCat(status.message(), "; a GraphNet folder cannot hold it, --to protobuf can"));
}

absl::Status SaveSample(const Sample& sample, const Output& output, Losses* losses) {
  RETURN_IF_ERROR(Save(sample, output));
  const Losses lost = LossesOf(sample, output);
  if (losses != nullptr) {
    *losses = lost;
  } else {
    TellLosses(lost, output);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, Output>> OutputsOf(const std::vector<std::string>& inputs,
                                                        const std::string& root,
                                                        const Output& output) {
  if (output.path == "-")
    return absl::InvalidArgumentError("the standard output takes one sample, not a folder of them");
  std::map<std::string, Output> outputs;
  Claims taken;
  for (const std::string& input : inputs) {
    Output& made = outputs[input] = output;
    if (output.path.empty()) continue;
    const absl::StatusOr<Format> format = RecogniseFormat(input);
    if (!format.ok()) continue;  // It fails when it is loaded, and the others go on.
    if (made.target == Target::kAuto) made.target = TargetOf(*format);
    const std::string name =
        *format == Format::kGraphNetFolder ? input : WithoutSampleEnding(input);
    made.path = PathBelow(output.path, root, name) + EndingOf(made.target);
    RETURN_IF_ERROR(Claim(made.path, input, &taken));
  }
  return outputs;
}

}  // namespace graphnet

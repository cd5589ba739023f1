#include "graphnet/cli/formats.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/engine.h"
#include "graphnet/cli/export_onnx.h"
#include "graphnet/cli/picture.h"
#include "graphnet/formats/core_formats.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/graphnet_folder/paddle_sample.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/formats/pir/reader.h"
#include "graphnet/formats/torch_functions.h"

namespace graphnet {
namespace {

// A picture: nobody reads a sample from it.
Format Dot() {
  Format format;
  format.name = "dot";
  format.title = "Graphviz";
  format.content = "a picture for Graphviz";
  format.endings = {".dot", ".gv"};
  format.write = [](const Sample& sample, const SaveOptions&, const ByteSink& sink) {
    return PassTo(sink, DrawPicture(*sample.module, PictureForm::kDot, {}));
  };
  return format;
}

Format Onnx() {
  Format format;
  format.name = "onnx";
  format.title = "ONNX";
  format.content = "an ONNX model";
  format.endings = {".onnx"};
  format.is_binary = true;
  format.keeps_weights = true;
  format.check_writer = CheckOnnxExporter;
  format.write_to = [](const Sample& sample, const std::string& path, const SaveOptions&) {
    return ExportOnnx(sample, path);
  };
  format.write = [](const Sample& sample, const SaveOptions&, const ByteSink&) {
    return ExportOnnx(sample, "-");
  };
  return format;
}

// A GraphNet folder of Paddle's calls.
Format Paddle() {
  Format format;
  format.name = "paddle";
  format.title = "a sample of Paddle";
  format.content = "a sample of Paddle";
  format.is_folder = true;
  format.lacks = FindFormat("graphnet")->lacks;
  // Where a sample of Paddle cannot be made, the error says which calls are in the way.
  format.write_to = [](const Sample& sample, const std::string& path,
                       const SaveOptions&) -> absl::Status {
    ASSIGN_OR_RETURN(const PaddleSample made, MakePaddleSample(sample));
    if (!made.is_whole()) {
      return absl::UnimplementedError(
          absl::StrCat("no calls of Paddle: ", LeftCalls(made.coverage)));
    }
    return WriteGraphNetFolder(made.sample, path);
  };
  return format;
}

Format Pir() {
  Format format;
  format.name = "pir";
  format.title = "PIR";
  format.content = "text of PIR";
  format.verifies = true;
  format.sniff = [](Source& source) {
    const auto head = source.head();
    return head.ok() && pir::LooksLikePir(*head);
  };
  format.read = [](Source& source, const LoadOptions&) -> absl::StatusOr<Sample> {
    ASSIGN_OR_RETURN(const std::string text, source.text(kMaxTextFileBytes));
    Sample sample;
    ASSIGN_OR_RETURN(sample.module, pir::ReadPir(text, source.name()));
    if (!source.path().empty()) sample.name = BaseName(source.path());
    return sample;
  };
  return format;
}

absl::Status OpenPlugin(const std::string& path) {
  const auto refuse = [&](absl::string_view why) {
    return absl::FailedPreconditionError(
        absl::StrCat("GRAPHNET_PLUGINS: ", Printable(path, 1000), ": ", why));
  };
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const error = dlerror();
    return refuse(Printable(error == nullptr ? "cannot be opened" : error, 1000));
  }
  using Entry = const char*(int version);
  auto* const entry = reinterpret_cast<Entry*>(dlsym(library, "GraphnetPlugin"));
  if (entry == nullptr) return refuse("exports no GraphnetPlugin");
  const char* const wrong = entry(kFormatsVersion);
  return wrong == nullptr ? absl::OkStatus() : refuse(Printable(wrong, 1000));
}

}  // namespace

absl::Status RegisterToolFormats() {
  SetTorchFunctions([]() -> absl::StatusOr<const TorchFunctions*> { return OpenEngine(); });
  for (Format (*make)() : {Dot, Onnx, Paddle, Pir}) RETURN_IF_ERROR(RegisterFormat(make()));
  const char* const plugins = std::getenv("GRAPHNET_PLUGINS");
  for (const auto path : absl::StrSplit(plugins == nullptr ? "" : plugins, ':', absl::SkipEmpty()))
    RETURN_IF_ERROR(OpenPlugin(std::string(path)));
  return absl::OkStatus();
}

}  // namespace graphnet

#include "graphnet/cli/formats.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/status.h"
#include "graphnet/base/without_exceptions.h"
#include "graphnet/evaluate/export_onnx.h"
#include "graphnet/formats/core_formats.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/torch_functions.h"
#include "graphnet/paddle/formats.h"
#include "graphnet/run/engine.h"
#include "graphnet/run/worker_host.h"
#include "graphnet/view/draw_picture.h"

namespace graphnet {
namespace {

// A picture, which cannot be read as a sample.
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
    return ExportOnnx(sample, path, HostOfTool);
  };
  format.write = [](const Sample& sample, const SaveOptions&, const ByteSink&) {
    return ExportOnnx(sample, "-", HostOfTool);
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
  const absl::StatusOr<const char*> wrong =
      WithoutExceptions([&]() -> absl::StatusOr<const char*> { return entry(kFormatsVersion); });
  if (!wrong.ok()) return refuse(absl::StrCat("it threw: ", wrong.status().message()));
  return *wrong == nullptr ? absl::OkStatus() : refuse(Printable(*wrong, 1000));
}

absl::Status RegisterOnce() {
  SetTorchFunctions([]() -> absl::StatusOr<const TorchFunctions*> { return OpenEngine(); });
  for (Format (*make)() : {Dot, Onnx}) RETURN_IF_ERROR(RegisterFormat(make()));
  RETURN_IF_ERROR(UsePaddle());
  const char* const plugins = std::getenv("GRAPHNET_PLUGINS");
  for (const auto path : absl::StrSplit(plugins == nullptr ? "" : plugins, ':', absl::SkipEmpty()))
    RETURN_IF_ERROR(OpenPlugin(std::string(path)));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterToolFormats() {
  static const absl::Status* const registered = new absl::Status(RegisterOnce());
  return *registered;
}

}  // namespace graphnet

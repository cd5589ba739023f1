#include "graphnet/paddle/formats.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/graphnet_folder/writer.h"
#include "graphnet/paddle/paddle_sample.h"
#include "graphnet/paddle/pir/reader.h"

namespace graphnet {
namespace {

// The format of GraphNet folders with Paddle's calls.
Format Paddle() {
  Format format;
  format.name = "paddle";
  format.title = "a sample of Paddle";
  format.content = "a sample of Paddle";
  format.is_folder = true;
  format.lacks = FindFormat("graphnet")->lacks;
  // If calls cannot be converted, the error lists them.
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
  format.tier = Tier::kExperimental;
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

}  // namespace

absl::Status UsePaddle() {
  for (Format (*make)() : {Paddle, Pir}) RETURN_IF_ERROR(RegisterFormat(make()));
  return absl::OkStatus();
}

}  // namespace graphnet

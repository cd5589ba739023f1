#include "graphnet/command/picture_options.h"

#include "absl/strings/str_cat.h"

namespace graphnet {

absl::Status PictureFile::Check() const {
  if (!side_by_side || PictureFormOf(path) == PictureForm::kHtml) return absl::OkStatus();
  return absl::InvalidArgumentError("--side-by-side is for pages: --picture FILE.html");
}

void AddPictureOption(CommandLine& command, PictureFile* picture, const std::string& what) {
  const auto check = [](const std::string& value) {
    return PictureFormOf(value).has_value() ? "" : "is called *.svg, *.html, *.dot or *.json";
  };
  command
      .AddOption("--picture", &picture->path,
                 absl::StrCat(what, ": *.svg, *.html, *.dot or *.json for Model Explorer"))
      .Check(check);
  command
      .AddFlag("--side-by-side", &picture->side_by_side,
               "Draw A and B beside each other, moving together (html)")
      .Needs("--picture");
}

void AddDrawingOptions(CommandLine& command, DrawingOptions* options) {
  constexpr char kGroup[] = "Parts and pictures";
  command
      .AddOption("--range", &options->part.range,
                 "Show this range of operators, without its end: 8:20")
      .Group(kGroup);
  command
      .AddOption("--module", &options->part.module,
                 "Show a module and everything below it, by path: layer1.0")
      .Group(kGroup);
  command
      .AddOption("--around", &options->part.around,
                 "Draw the nodes within this many arrows of a node (default: 2): relu_3:5")
      .Group(kGroup);
  command
      .AddOption("--depth", &options->depth,
                 "Draw modules that are nested deeper than this as one box, or folded in html")
      .Range(0, 1'000'000'000)
      .Group(kGroup);
}

}  // namespace graphnet

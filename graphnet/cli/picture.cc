#include "graphnet/cli/picture.h"

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/options.h"
#include "graphnet/view/dot.h"
#include "graphnet/view/layout.h"
#include "graphnet/view/model_explorer.h"
#include "graphnet/view/page.h"
#include "graphnet/view/svg.h"

namespace graphnet {

void AddPictureOption(CLI::App* command, std::string* path, const std::string& what) {
  const auto check = [](const std::string& value) {
    return PictureFormOf(value).has_value() ? "" : "is called *.svg, *.html, *.dot or *.json";
  };
  command
      ->add_option("--picture", *path,
                   absl::StrCat(what, ": *.svg, *.html, *.dot or *.json for Model Explorer"))
      ->check(CLI::Validator(check, /*validator_desc=*/""));
}

void AddDrawingOptions(CLI::App* command, DrawingOptions* options) {
  constexpr char kGroup[] = "Parts and pictures";
  command
      ->add_option("--range", options->part.range,
                   "Show this range of operators, without its end: 8:20")
      ->group(kGroup);
  command
      ->add_option("--module", options->part.module,
                   "Show a module and everything below it, by path: layer1.0")
      ->group(kGroup);
  command
      ->add_option("--around", options->part.around,
                   "Draw the nodes within this many arrows of a node (default: 2): relu_3:5")
      ->group(kGroup);
  command
      ->add_option("--depth", options->depth,
                   "Draw modules that are nested deeper than this as one box, or folded in html")
      ->check(CLI::Range(0, 1'000'000'000))
      ->group(kGroup);
}

std::optional<PictureForm> PictureFormOf(const std::string& path) {
  static constexpr std::pair<const char*, PictureForm> kEndings[] = {
      {".dot", PictureForm::kDot},
      {".gv", PictureForm::kDot},
      {".svg", PictureForm::kSvg},
      {".html", PictureForm::kHtml},
      {".json", PictureForm::kModelExplorer}};
  for (const auto& [ending, form] : kEndings) {
    if (absl::EndsWith(path, ending)) return form;
  }
  return std::nullopt;
}

absl::StatusOr<std::string> DrawPicture(const Module& module, PictureForm form,
                                        const DrawingOptions& options) {
  ASSIGN_OR_RETURN(Picture picture, MakePicture(module, options.part));
  // A page folds modules; the other forms must collapse them.
  if (form == PictureForm::kHtml) return WritePage(picture, LayOut(picture), options.depth);
  if (form == PictureForm::kModelExplorer) return WriteModelExplorer(picture);
  if (options.depth >= 0) picture = CollapsedBelow(picture, options.depth);
  return form == PictureForm::kSvg ? WriteSvg(picture, LayOut(picture)) : WriteDot(picture);
}

}  // namespace graphnet

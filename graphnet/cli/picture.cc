#include "graphnet/cli/picture.h"

#include <map>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/options.h"
#include "graphnet/view/dot.h"
#include "graphnet/view/graphviz.h"
#include "graphnet/view/layout.h"
#include "graphnet/view/model_explorer.h"
#include "graphnet/view/page.h"
#include "graphnet/view/svg.h"

namespace graphnet {
namespace {

constexpr char kHowToDrawLess[] =
    "; draw less with --depth, --module, --range or --around, or use svg or html";

absl::StatusOr<std::string> DrawPng(const Picture& picture, const DrawingOptions& options) {
  if (options.layouter == Layouter::kOwn) {
    return absl::InvalidArgumentError("png needs Graphviz; svg and html do not");
  }
  if (picture.boxes.size() > kMaxGraphvizBoxes) {
    return absl::InvalidArgumentError(
        absl::StrCat("png: Graphviz draws at most ", kMaxGraphvizBoxes,
                     " boxes, but the picture has ", picture.boxes.size(), kHowToDrawLess));
  }
  absl::StatusOr<std::string> png = RunGraphviz(WriteDot(picture), "png");
  if (absl::IsNotFound(png.status())) {
    return absl::NotFoundError(
        "png: Graphviz is not installed (package graphviz); svg and html do not need it");
  }
  return png;
}

absl::StatusOr<std::string> DrawSvg(const Picture& picture, const DrawingOptions& options) {
  const bool small = picture.boxes.size() <= kMaxGraphvizBoxes;
  if (options.layouter == Layouter::kGraphviz || (options.layouter == Layouter::kAuto && small)) {
    absl::StatusOr<std::string> svg = RunGraphviz(WriteDot(picture), "svg");
    if (svg.ok() || options.layouter == Layouter::kGraphviz) return svg;
  }
  return WriteSvg(picture, LayOut(picture));
}

}  // namespace

void AddPictureOption(CLI::App* command, std::string* path, const std::string& what) {
  const auto check = [](const std::string& value) {
    return PictureFormOf(value).has_value() ? ""
                                            : "is called *.svg, *.html, *.png, *.dot or *.json";
  };
  command
      ->add_option("--picture", *path,
                   absl::StrCat(what, ": *.svg, *.html, *.png, *.dot or *.json for Model Explorer"))
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
  const std::map<std::string, Layouter> layouters = {
      {"auto", Layouter::kAuto}, {"graphviz", Layouter::kGraphviz}, {"own", Layouter::kOwn}};
  AddChoiceOption(
      command, "--layout", &options->layouter, layouters,
      absl::StrCat("Layout engine for svg; auto: Graphviz if it is installed, for up to ",
                   kMaxGraphvizBoxes, " boxes, otherwise graphnet's own"))
      ->group(kGroup);
}

std::optional<PictureForm> PictureFormOf(const std::string& path) {
  static constexpr std::pair<const char*, PictureForm> kEndings[] = {
      {".dot", PictureForm::kDot},   {".gv", PictureForm::kDot},
      {".svg", PictureForm::kSvg},   {".png", PictureForm::kPng},
      {".html", PictureForm::kHtml}, {".json", PictureForm::kModelExplorer}};
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
  switch (form) {
    case PictureForm::kPng: return DrawPng(picture, options);
    case PictureForm::kSvg: return DrawSvg(picture, options);
    default: return WriteDot(picture);
  }
}

}  // namespace graphnet

#include "graphnet/view/draw_picture.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "graphnet/base/status.h"
#include "graphnet/view/dot.h"
#include "graphnet/view/layout.h"
#include "graphnet/view/model_explorer.h"
#include "graphnet/view/page.h"
#include "graphnet/view/pair_page.h"
#include "graphnet/view/svg.h"

namespace graphnet {

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

namespace {

PageOptions PageOf(const DrawingOptions& options) {
  PageOptions page = options.page;
  page.depth = options.depth;
  return page;
}

}  // namespace

absl::StatusOr<std::string> DrawPicture(const Module& module, PictureForm form,
                                        const DrawingOptions& options) {
  ASSIGN_OR_RETURN(Picture picture, MakePicture(module, options.part));
  // A page folds modules; the other forms must collapse them.
  if (form == PictureForm::kHtml) return WritePage(picture, LayOut(picture), PageOf(options));
  if (form == PictureForm::kModelExplorer) return WriteModelExplorer(picture);
  if (options.depth >= 0) picture = CollapsedBelow(picture, options.depth);
  return form == PictureForm::kSvg ? WriteSvg(picture, LayOut(picture)) : WriteDot(picture);
}

absl::StatusOr<std::string> DrawSideBySide(
    const DrawingSide& left, const DrawingSide& right,
    absl::Span<const std::pair<const Node*, const Node*>> pairs) {
  ASSIGN_OR_RETURN(const Picture a, MakePicture(left.module, left.options.part));
  ASSIGN_OR_RETURN(const Picture b, MakePicture(right.module, right.options.part));
  return WritePairPage({a, PageOf(left.options)}, {b, PageOf(right.options)}, pairs);
}

}  // namespace graphnet

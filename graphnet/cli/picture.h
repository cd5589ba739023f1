// Pictures: what `show` and `diff-run` draw, and how.
#ifndef GRAPHNET_CLI_PICTURE_H_
#define GRAPHNET_CLI_PICTURE_H_

#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/view/picture.h"

namespace graphnet {

enum class PictureForm { kDot, kSvg, kPng, kHtml, kModelExplorer };
// Who finds the places in SVG: Graphviz where it is installed and the picture is small enough
// for it, or one of the two.
enum class Layouter { kAuto, kGraphviz, kOwn };

struct DrawingOptions {
  PictureOptions part;
  int depth = -1;  // modules nested deeper are one box, in a page folded; -1: none
  Layouter layouter = Layouter::kAuto;

  bool is_given() const { return part.is_part() || depth >= 0 || layouter != Layouter::kAuto; }
};

// --picture: a file that is named as a picture, of what `what` says.
void AddPictureOption(CLI::App* command, std::string* path, const std::string& what);

// --range, --module, --around, --depth and --layout.
void AddDrawingOptions(CLI::App* command, DrawingOptions* options);

// By the ending of a file's name; nothing for one that no picture has.
std::optional<PictureForm> PictureFormOf(const std::string& path);

// The content of the file. NotFound if only Graphviz could draw it and is not installed, or
// there is no such part.
absl::StatusOr<std::string> DrawPicture(const Module& module, PictureForm form,
                                        const DrawingOptions& options);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_PICTURE_H_

// The options of commands that draw graphs.
#ifndef GRAPHNET_COMMAND_PICTURE_OPTIONS_H_
#define GRAPHNET_COMMAND_PICTURE_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "graphnet/command/command_line.h"
#include "graphnet/view/draw_picture.h"

namespace graphnet {

// The picture of a command that compares two graphs.
struct PictureFile {
  std::string path;  // empty: none
  bool side_by_side = false;

  // InvalidArgument if both graphs are to be side by side in a file that is no page.
  absl::Status Check() const;
};

// Adds --picture, a file with the ending of a picture, and --side-by-side. `what` is the help.
void AddPictureOption(CommandLine& command, PictureFile* picture, const std::string& what);

// Adds --range, --module, --around and --depth.
void AddDrawingOptions(CommandLine& command, DrawingOptions* options);

}  // namespace graphnet

#endif  // GRAPHNET_COMMAND_PICTURE_OPTIONS_H_

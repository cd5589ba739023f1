// The options of commands that draw graphs.
#ifndef GRAPHNET_COMMAND_PICTURE_OPTIONS_H_
#define GRAPHNET_COMMAND_PICTURE_OPTIONS_H_

#include <string>

#include "graphnet/command/command_line.h"
#include "graphnet/view/draw_picture.h"

namespace graphnet {

// Adds --picture, a file with the ending of a picture. `what` is the help.
void AddPictureOption(CommandLine& command, std::string* path, const std::string& what);

// Adds --range, --module, --around and --depth.
void AddDrawingOptions(CommandLine& command, DrawingOptions* options);

}  // namespace graphnet

#endif  // GRAPHNET_COMMAND_PICTURE_OPTIONS_H_

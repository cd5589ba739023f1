// The formats that the tool has besides those of every program (formats/formats.h).
#ifndef GRAPHNET_CLI_FORMATS_H_
#define GRAPHNET_CLI_FORMATS_H_

#include "absl/status/status.h"

namespace graphnet {

// Has formats ask the tool's engine for LibTorch's functions (engine.h), and
// registers pictures by Graphviz, ONNX, samples of Paddle and text of PIR, and what the libraries
// in the environment variable GRAPHNET_PLUGINS (paths, with colons between) bring along: each
// exports `const char* GraphnetPlugin(int version)`, called with kFormatsVersion, which calls
// RegisterFormat and returns null, or what is wrong. To be called once, before formats are used.
absl::Status RegisterToolFormats();

}  // namespace graphnet

#endif  // GRAPHNET_CLI_FORMATS_H_

// Registers the formats that the tool has in addition to those of every program
// (formats/formats.h).
#ifndef GRAPHNET_CLI_FORMATS_H_
#define GRAPHNET_CLI_FORMATS_H_

#include "absl/status/status.h"

namespace graphnet {

// Makes the tool's engine (engine.h) provide LibTorch's functions to formats. Registers pictures by
// Graphviz, ONNX, samples of Paddle, text of PIR, and the formats of the libraries in the
// environment variable GRAPHNET_PLUGINS (paths separated by colons). Each library exports
// `const char* GraphnetPlugin(int version)`, which is called with kFormatsVersion, calls
// RegisterFormat, and returns null or an error message. Call it before formats are used; only the
// first call does anything, and all return its result.
absl::Status RegisterToolFormats();

}  // namespace graphnet

#endif  // GRAPHNET_CLI_FORMATS_H_

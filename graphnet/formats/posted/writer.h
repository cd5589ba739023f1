// Writes a graph as PyTorch's print_readable(include_device=True) prints it.
#ifndef GRAPHNET_FORMATS_POSTED_WRITER_H_
#define GRAPHNET_FORMATS_POSTED_WRITER_H_

#include <string>

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet::posted {

// Returns the text, which ReadGraph reads (reader.h). Strides, functions and lines of code are not
// in it, since the IR has none. Unimplemented for what no text can say: symbolic integers as arguments.
absl::StatusOr<std::string> PrintReadable(const Module& module);

}  // namespace graphnet::posted

#endif  // GRAPHNET_FORMATS_POSTED_WRITER_H_

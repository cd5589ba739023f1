// Reads the text form of PIR, as printer.h writes it and as Paddle prints it. Types of attributes
// and `builtin.` in front of types may be missing, as in Paddle 3.3. The ids, symbolic shapes and
// trailing names that its passes add are optional, too.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Module> module, ReadPir(text, "x.pir"));
//
// printer.h says how operations and nodes correspond. The reader drops ids, stop_gradient, places
// of inputs other than cpu and gpu, and all attributes of outputs and parameters but their names. A
// size of -1 becomes the expression in the symbolic shape if there is one, or else a symbol of its
// own.
//
// The text is untrusted: time and memory are bounded by its size, and nesting by kMaxNesting. The
// verifier accepts every module that is read.
#ifndef GRAPHNET_PADDLE_PIR_READER_H_
#define GRAPHNET_PADDLE_PIR_READER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"

namespace graphnet::pir {

// Reads a module. The error is InvalidArgument, "<file_name>:<line>:<column>: <message>", with an
// excerpt (text/excerpt.h).
absl::StatusOr<std::unique_ptr<Module>> ReadPir(absl::string_view text,
                                                absl::string_view file_name);

// Returns whether a file that starts with `bytes` seems to be text of PIR.
bool LooksLikePir(absl::string_view bytes);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_READER_H_

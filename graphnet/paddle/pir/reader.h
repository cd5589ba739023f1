// Reads the text form of PIR, what printer.h writes and what Paddle prints: with types of
// attributes and `builtin.` in front of types, or without, as Paddle 3.3 does; with the ids,
// symbolic shapes and trailing names that its passes add, or without.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Module> module, ReadPir(text, "x.pir"));
//
// What becomes of an operation is in printer.h. Of what Paddle's text says beyond that, ids,
// stop_gradient, the place of an input that is none of cpu and gpu, and what an output or parameter
// is besides its name are not kept. A size of -1 gets a symbol of its own, or those of the symbolic
// shape where there is one.
//
// Text comes from anywhere: time and memory are bounded by its size, nesting by kMaxNesting.
// What is read the verifier accepts.
#ifndef GRAPHNET_PADDLE_PIR_READER_H_
#define GRAPHNET_PADDLE_PIR_READER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"

namespace graphnet::pir {

// InvalidArgument, "<file_name>:<line>:<column>: <message>", with an excerpt (text/excerpt.h).
absl::StatusOr<std::unique_ptr<Module>> ReadPir(absl::string_view text,
                                                absl::string_view file_name);

// Whether a file that starts with `bytes` is meant to be one.
bool LooksLikePir(absl::string_view bytes);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_READER_H_

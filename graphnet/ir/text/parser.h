// Reads the text form of modules and samples (docs/text.md):
//
//   absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(text, "m.gn");
//   if (!module.ok()) std::cerr << module.status().message() << "\n";  // "m.gn:3:7: …"
//
// Text comes from anywhere: time and memory are bounded by its size, nesting by
// kMaxNesting. What is read is well formed (names are unique, values defined
// before their use), but only the verifier says whether it is a valid module.
#ifndef GRAPHNET_IR_TEXT_PARSER_H_
#define GRAPHNET_IR_TEXT_PARSER_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/limits.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

struct ParseOptions {
  size_t max_bytes = kMaxTextFileBytes;
};

// Errors are InvalidArgument, "<file_name>:<line>:<column>: <message>", with an
// excerpt (graphnet/ir/text/excerpt.h).
//
// A fragment, text without the "graphnet.module 1" and "end" lines, is taken
// too; it is how tests and people write small modules.
absl::StatusOr<std::unique_ptr<Module>> ParseModule(absl::string_view text,
                                                    absl::string_view file_name,
                                                    const ParseOptions& options = {});

// The same for a sample. Text of a module gives a sample without a name.
absl::StatusOr<Sample> ParseSample(absl::string_view text, absl::string_view file_name,
                                   const ParseOptions& options = {});

// Whether a file that starts with `bytes` is meant to be in the text form; with
// `fragments`, also to be a fragment: such a file may still be any other text.
bool LooksLikeText(absl::string_view bytes, bool fragments = false);

}  // namespace graphnet

#endif  // GRAPHNET_IR_TEXT_PARSER_H_

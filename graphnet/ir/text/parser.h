// Reads the text form of modules and samples (docs/text.md):
//
//   absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(text, "m.gn");
//   if (!module.ok()) std::cerr << module.status().message() << "\n";  // "m.gn:3:7: …"
//
// Text may come from anywhere: its size bounds the time and memory, and kMaxNesting the nesting.
// The module that is read is well formed (names are unique, values are defined before their use),
// but only the verifier says whether it is valid.
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

// The limits of a parser.
struct ParseOptions {
  size_t max_bytes = kMaxTextFileBytes;  // Longer texts are refused.
};

// Reads a module. Errors are InvalidArgument, "<file_name>:<line>:<column>: <message>", with an
// excerpt (graphnet/ir/text/excerpt.h). `file_name` is used in messages only.
//
// The text may be a fragment, without the "graphnet.module 1" and "end" lines. Tests and people
// write small modules in this way.
absl::StatusOr<std::unique_ptr<Module>> ParseModule(absl::string_view text,
                                                    absl::string_view file_name,
                                                    const ParseOptions& options = {});

// Reads a sample in the same way. The text of a module yields a sample without a name.
absl::StatusOr<Sample> ParseSample(absl::string_view text, absl::string_view file_name,
                                   const ParseOptions& options = {});

// Returns whether a file that starts with `bytes` is meant to be in the text form. With
// `fragments`, returns true for the start of a fragment, too, although such a file may be any
// other text.
bool LooksLikeText(absl::string_view bytes, bool fragments = false);

}  // namespace graphnet

#endif  // GRAPHNET_IR_TEXT_PARSER_H_

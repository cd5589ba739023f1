// Examples of the commands, for their help and the manual.
#ifndef GRAPHNET_CLI_EXAMPLES_H_
#define GRAPHNET_CLI_EXAMPLES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace graphnet {

// Returns command lines that work in the project's folder. They do not overwrite each other's
// files.
absl::Span<const absl::string_view> ExamplesOf(absl::string_view command);

// Returns "Examples:\n  graphnet show samples/vit.pb\n…" for the help.
std::string ExamplesText(absl::string_view command);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_EXAMPLES_H_

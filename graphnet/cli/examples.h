// Examples of each command, for its help and the manual.
#ifndef GRAPHNET_CLI_EXAMPLES_H_
#define GRAPHNET_CLI_EXAMPLES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace graphnet {

// Command lines that run in the project's folder; none write over another's files.
absl::Span<const absl::string_view> ExamplesOf(absl::string_view command);

// "Examples:\n  graphnet show samples/vit.pb\n…", for the help.
std::string ExamplesText(absl::string_view command);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_EXAMPLES_H_

// Operators of one's own, which --schema declares.
#ifndef GRAPHNET_CLI_OWN_OPERATORS_H_
#define GRAPHNET_CLI_OWN_OPERATORS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace graphnet {

// Declares operators for the rest of the process. `word` is "SCHEMA", for an operator that cannot
// run, "SCHEMA=identity", "SCHEMA=SAMPLE", whose graph computes it, or a file with one of these a
// line and comments that begin with #. Facts may stand before a schema (operator_facts.h). Paths
// start at the current folder. Errors name the schema, and the file and line.
absl::Status DeclareOperators(const std::string& word);

// The options with which another process of the tool knows the same operators: those of --library
// and --schema that this one was given. Set before the command runs.
std::vector<std::string>& OperatorOptions();

}  // namespace graphnet

#endif  // GRAPHNET_CLI_OWN_OPERATORS_H_

// Operators that the user declares with --schema.
#ifndef GRAPHNET_RUN_OWN_OPERATORS_H_
#define GRAPHNET_RUN_OWN_OPERATORS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace graphnet {

// Declares operators until the process ends. `word` is "SCHEMA" for an operator that cannot run,
// "SCHEMA=identity", "SCHEMA=SAMPLE" for one that the graph of a sample computes, or a file with
// one of these per line and with comments that begin with #. Facts may precede a schema
// (operator_facts.h). Paths are relative to the current folder. Errors name the schema, or the file
// and line.
absl::Status DeclareOperators(const std::string& word);

// The options --library and --schema that this process was given. Another process of the tool needs
// them to know the same operators. They are set before the command runs.
std::vector<std::string>& OperatorOptions();

}  // namespace graphnet

#endif  // GRAPHNET_RUN_OWN_OPERATORS_H_

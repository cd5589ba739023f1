// Texts of a program that PyTorch evaluates as Python when it loads or runs it.
#ifndef GRAPHNET_FORMATS_PT2_EVALUATED_H_
#define GRAPHNET_FORMATS_PT2_EVALUATED_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/pt2/json.h"

namespace graphnet::pt2 {

// Returns whether the text is a name of Python, of ASCII letters, digits and underscores.
bool IsPythonName(absl::string_view text);

// Returns whether the text, a guard, only compares and computes with sizes and constants: it calls
// no functions but those that PyTorch writes into guards.
bool IsPlainGuard(absl::string_view text);

// Checks the texts that PyTorch evaluates: expressions of sizes, guards, names of values, arguments
// and attributes. InvalidArgument names the first that could mean anything else.
absl::Status CheckEvaluated(Json program);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_EVALUATED_H_

// Spells names and numbers in MLIR's text.
#ifndef GRAPHNET_FORMATS_MLIR_SPELLING_H_
#define GRAPHNET_FORMATS_MLIR_SPELLING_H_

#include <string>

#include "absl/strings/string_view.h"

namespace graphnet::mlir {

// Returns `text` as a quoted and escaped string literal.
std::string Quoted(absl::string_view text);

// Returns the name of an SSA value, such as "%layer.weight". Characters that MLIR does not allow
// become underscores, so different names may give the same result.
std::string SsaName(absl::string_view name);

// Returns a literal that reads back as exactly `value`: digits, or the bits in hexadecimal for
// infinities and NaNs.
std::string FloatText(double value);

}  // namespace graphnet::mlir

#endif  // GRAPHNET_FORMATS_MLIR_SPELLING_H_

// How names and numbers are spelled in MLIR's text.
#ifndef GRAPHNET_FORMATS_MLIR_SPELLING_H_
#define GRAPHNET_FORMATS_MLIR_SPELLING_H_

#include <string>

#include "absl/strings/string_view.h"

namespace graphnet::mlir {

// The text of a string attribute or location.
std::string Quoted(absl::string_view text);

// "%layer.weight", of a name that an SSA value may have.
std::string SsaName(absl::string_view name);

// Bits, where digits would not do.
std::string FloatText(double value);

}  // namespace graphnet::mlir

#endif  // GRAPHNET_FORMATS_MLIR_SPELLING_H_

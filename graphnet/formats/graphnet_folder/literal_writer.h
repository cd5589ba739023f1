// Python's spelling of literals, such that reading gives the same bits back.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_LITERAL_WRITER_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_LITERAL_WRITER_H_

#include <string>

#include "absl/strings/string_view.h"

namespace graphnet {

// "1e-05", "2.0"; "inf", "-inf" and "nan" as bare names.
void AppendPythonFloat(double value, std::string* out);
// With a fixed number of decimals if that gives the same value back, else the
// shortest spelling; float("inf") and the like.
void AppendPythonDecimal(double value, int decimals, std::string* out);
// In double quotes, with escapes.
void AppendPythonString(absl::string_view text, std::string* out);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_LITERAL_WRITER_H_

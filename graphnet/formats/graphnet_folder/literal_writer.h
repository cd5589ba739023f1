// Writes literals in Python's spelling. Reading them gives the same bits back.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_LITERAL_WRITER_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_LITERAL_WRITER_H_

#include <string>

#include "absl/strings/string_view.h"

namespace graphnet {

// Appends "1e-05" or "2.0"; "inf", "-inf" and "nan" are bare names.
void AppendPythonFloat(double value, std::string* out);
// Appends the value with so many decimals if that reads back the same, else its shortest spelling.
// Infinities and nan become float("inf") and so on.
void AppendPythonDecimal(double value, int decimals, std::string* out);
// Appends the text in double quotes, with escapes.
void AppendPythonString(absl::string_view text, std::string* out);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_LITERAL_WRITER_H_

// Remarks of readers on files that they read all the same, and warnings of PyTorch.
#ifndef GRAPHNET_BASE_REMARK_H_
#define GRAPHNET_BASE_REMARK_H_

#include <string>

#include "absl/strings/string_view.h"

namespace graphnet {

using RemarkHandler = void (*)(const std::string& text);

// Sets the function that receives remarks, from any thread; without one, they are dropped. To be
// called before the first file is read.
void SetRemarkHandler(RemarkHandler handler);

// Passes the remark "file: text" on, once for each file.
void Remark(absl::string_view file, absl::string_view text);

// Sets the function that receives warnings, from any thread; without one, they are dropped.
void SetWarningHandler(RemarkHandler handler);

// Passes a warning on, once for each text.
void Warn(const std::string& text);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_REMARK_H_

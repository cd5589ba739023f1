// Remarks of readers on files that they read all the same.
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

}  // namespace graphnet

#endif  // GRAPHNET_BASE_REMARK_H_

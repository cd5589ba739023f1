// What is UTF-8, for all who read text from outside.
#ifndef GRAPHNET_BASE_UTF8_H_
#define GRAPHNET_BASE_UTF8_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace graphnet {

// Bytes of the character at the start of `text`; 0 if there is none that is UTF-8 as in
// Unicode: no overlong form, no surrogate, nothing above U+10FFFF.
size_t Utf8Length(absl::string_view text);

bool IsUtf8(absl::string_view text);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_UTF8_H_

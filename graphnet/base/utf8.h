// Checks UTF-8, for readers of untrusted text.
#ifndef GRAPHNET_BASE_UTF8_H_
#define GRAPHNET_BASE_UTF8_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace graphnet {

// Returns the number of bytes of the character at the start of `text`, or 0 if there is no valid
// one. As in Unicode, overlong forms, surrogates and characters above U+10FFFF are not valid.
size_t Utf8Length(absl::string_view text);

bool IsUtf8(absl::string_view text);

// Returns the text with U+FFFD in place of each byte that is not part of a valid character.
std::string AsUtf8(absl::string_view text);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_UTF8_H_

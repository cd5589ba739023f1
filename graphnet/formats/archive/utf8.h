// The UTF-8 test that archive names, pickled strings and Python texts have to pass.
#ifndef GRAPHNET_FORMATS_ARCHIVE_UTF8_H_
#define GRAPHNET_FORMATS_ARCHIVE_UTF8_H_

#include "absl/strings/string_view.h"

namespace graphnet {

// True if `text` is UTF-8 as in Unicode: no overlong forms, no surrogates,
// nothing above U+10FFFF.
bool IsUtf8(absl::string_view text);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_ARCHIVE_UTF8_H_

// The headers of this folder, built in.
#ifndef GRAPHNET_PASSES_HEADER_TEXT_H_
#define GRAPHNET_PASSES_HEADER_TEXT_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace graphnet {

struct HeaderText {
  absl::string_view name;  // "dead_code.h"
  absl::string_view text;
};
absl::Span<const HeaderText> HeaderTexts();

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_HEADER_TEXT_H_

// Internal: the text of autocast.txt, which make_autocast.py writes.
#ifndef GRAPHNET_PASSES_AUTOCAST_H_
#define GRAPHNET_PASSES_AUTOCAST_H_

#include "absl/strings/string_view.h"

namespace graphnet {

absl::string_view AutocastText();

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_AUTOCAST_H_

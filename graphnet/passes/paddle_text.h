// Internal: what paddle_rules.txt says.
#ifndef GRAPHNET_PASSES_PADDLE_TEXT_H_
#define GRAPHNET_PASSES_PADDLE_TEXT_H_

#include "absl/strings/string_view.h"

namespace graphnet {

absl::string_view PaddleRuleText();

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_PADDLE_TEXT_H_

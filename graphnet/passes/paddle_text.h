// Internal: what paddle_rules.txt and paddle_examples.txt say.
#ifndef GRAPHNET_PASSES_PADDLE_TEXT_H_
#define GRAPHNET_PASSES_PADDLE_TEXT_H_

#include "absl/strings/string_view.h"

namespace graphnet {

absl::string_view PaddleRuleText();
absl::string_view PaddleExampleText();

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_PADDLE_TEXT_H_

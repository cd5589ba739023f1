// Internal: files of this folder that are embedded in the program.
#ifndef GRAPHNET_PADDLE_RULE_TEXT_H_
#define GRAPHNET_PADDLE_RULE_TEXT_H_

#include "absl/strings/string_view.h"

namespace graphnet {

absl::string_view PaddleRuleText();      // paddle_rules.txt
absl::string_view PaddleExampleText();   // paddle_examples.txt
absl::string_view ToPaddleHeaderText();  // to_paddle.h

}  // namespace graphnet

#endif  // GRAPHNET_PADDLE_RULE_TEXT_H_

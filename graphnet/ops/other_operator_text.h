// Internal: the text of other_operators.txt, which is built in.
#ifndef GRAPHNET_OPS_OTHER_OPERATOR_TEXT_H_
#define GRAPHNET_OPS_OTHER_OPERATOR_TEXT_H_

#include "absl/strings/string_view.h"

namespace graphnet {

absl::string_view OtherOperatorText();

}  // namespace graphnet

#endif  // GRAPHNET_OPS_OTHER_OPERATOR_TEXT_H_

// Internal: the text of costs.txt, which is built in.
#ifndef GRAPHNET_FACTS_COST_COST_TEXT_H_
#define GRAPHNET_FACTS_COST_COST_TEXT_H_

#include "absl/strings/string_view.h"

namespace graphnet {

absl::string_view CostText();

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_COST_COST_TEXT_H_

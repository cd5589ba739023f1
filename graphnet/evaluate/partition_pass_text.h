// The documentation of the pass partition, built in.
#ifndef GRAPHNET_EVALUATE_PARTITION_PASS_TEXT_H_
#define GRAPHNET_EVALUATE_PARTITION_PASS_TEXT_H_

#include "absl/strings/string_view.h"

namespace graphnet {

// Returns the text of partition_pass.h.
absl::string_view PartitionPassHeaderText();

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_PARTITION_PASS_TEXT_H_

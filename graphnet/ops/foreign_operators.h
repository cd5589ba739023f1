// Operators that no table of ours has and that a library brought into this process.
#ifndef GRAPHNET_OPS_FOREIGN_OPERATORS_H_
#define GRAPHNET_OPS_FOREIGN_OPERATORS_H_

#include "absl/strings/string_view.h"

namespace graphnet {

// From now on FindCallable knows calls of it, as Callable::Kind::kForeign: "torchvision",
// "roi_align", "" for torchvision.roi_align and torchvision.roi_align.default. Any thread.
void AddForeignOperator(absl::string_view space, absl::string_view name,
                        absl::string_view overload);

// Of a target without "torch.ops.". Any thread.
bool IsForeignOperator(absl::string_view target);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_FOREIGN_OPERATORS_H_

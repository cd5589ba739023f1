// Operators that no table of ours has and that a library brought into this process.
#ifndef GRAPHNET_OPS_FOREIGN_OPERATORS_H_
#define GRAPHNET_OPS_FOREIGN_OPERATORS_H_

#include "absl/strings/string_view.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

// From now on FindCallable knows calls of the operator, as Callable::Kind::kForeign. `schema`, as
// PyTorch writes it, is "torchvision::roi_align(Tensor input, …) -> Tensor": targets of it are
// torchvision.roi_align and torchvision.roi_align.default. Any thread.
void AddForeignOperator(absl::string_view schema);

// Of a target without "torch.ops.". Any thread.
bool IsForeignOperator(absl::string_view target);
// Its schema, with types as far as graphnet knows them; null if there is no such operator, or
// its schema cannot be read. It lives for good. Any thread.
const Schema* FindForeignSchema(absl::string_view target);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_FOREIGN_OPERATORS_H_

// Internal: metas with other sizes.
#ifndef GRAPHNET_PASSES_RESIZE_SIZED_META_H_
#define GRAPHNET_PASSES_RESIZE_SIZED_META_H_

#include "absl/functional/function_ref.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/resize/extent.h"

namespace graphnet {

// Returns `meta` with the sizes of `extent`, each written by `dim` from the size and what the meta
// has there. Parts whose sizes are not known stay.
const ValueMeta* SizedMeta(Module* module, const ValueMeta& meta, const Extent& extent,
                           absl::FunctionRef<Dim(const Size& size, const Dim& now)> dim);

// Returns whether two metas state the same sizes. A part of which one knows nothing does not count.
bool HaveSameSizes(const ValueMeta& a, const ValueMeta& b);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_RESIZE_SIZED_META_H_

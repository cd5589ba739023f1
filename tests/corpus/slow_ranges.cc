#include "tests/corpus/slow_ranges.h"

#include "graphnet/base/status.h"
#include "graphnet/ir/canonical_hash.h"

namespace graphnet {

absl::StatusOr<std::string> SlowRanges::Hash(const Range& range) const {
  ASSIGN_OR_RETURN(
      const std::vector<Sample> pieces,
      CutRanges(sample_, index_, regions_, {range},
                {.style = Style::kDag, .all_inputs = false, .keep_unused = false}, nullptr));
  return CanonicalHash(*pieces[0].module, {.metas = true});
}

}  // namespace graphnet

#include "graphnet/formats/mlir/operators.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_split.h"

namespace graphnet::mlir {

bool HasOperator(absl::string_view target) {
  static const auto* const names = new absl::flat_hash_set<absl::string_view>(
      absl::StrSplit(kOperators, '\n', absl::SkipEmpty()));
  return names->contains(target);
}

}  // namespace graphnet::mlir

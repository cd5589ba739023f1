// Spelling suggestions for unknown names.
#ifndef GRAPHNET_BASE_NEAR_MISS_H_
#define GRAPHNET_BASE_NEAR_MISS_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace graphnet {

// Returns the edit distance from `b` to `a`, where a swap of neighbours counts as one edit, or
// most + 1 if the distance exceeds `most`.
size_t EditDistance(absl::string_view a, absl::string_view b, size_t most);

// Returns the name of `names` that `name` is probably a misspelling of; or one that ends with a dot
// and `name`, m.layer.1 for layer.1; or one whose last words `name` abbreviates, m.0.attention for
// 0.attn. Returns an empty text if none is near.
absl::string_view NearMiss(absl::string_view name, absl::Span<const absl::string_view> names);

// Returns the end of a message about an unknown name: "; did you mean NEAR MISS?" or an empty text.
std::string NearMissHint(absl::string_view name, absl::Span<const absl::string_view> names);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_NEAR_MISS_H_

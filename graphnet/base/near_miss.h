// What somebody may have meant by a name that there is not.
#ifndef GRAPHNET_BASE_NEAR_MISS_H_
#define GRAPHNET_BASE_NEAR_MISS_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace graphnet {

// The edits (insert, drop, change, swap neighbours) that make `a` of `b`; more than `most` counts as
// most + 1.
size_t EditDistance(absl::string_view a, absl::string_view b, size_t most);

// The one of `names` that `name` is a slip of, or that ends with it behind a dot: m.layer.1 for
// layer.1. Empty if none is near.
absl::string_view NearMiss(absl::string_view name, absl::Span<const absl::string_view> names);

// The end of a message that says that there is no `name`: "; is NEAR MISS meant?" or empty.
std::string NearMissHint(absl::string_view name, absl::Span<const absl::string_view> names);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_NEAR_MISS_H_

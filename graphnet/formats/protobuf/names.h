// Derives the names of nodes from targets and from bases.
#ifndef GRAPHNET_FORMATS_PROTOBUF_NAMES_H_
#define GRAPHNET_FORMATS_PROTOBUF_NAMES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace graphnet::proto_internal {

// Returns the text in snake case, like torch.fx: "L_LayerNorm_" -> "l_layer_norm_". Bytes beyond
// ASCII stay the same. The result lies in `buffer`, which only grows.
absl::string_view SnakeCase(absl::string_view text, std::string* buffer);

// A name as a base and a suffix: "x" is ("x", 0), "x_7" is ("x", 8). JoinName gives the name back.
struct NameParts {
  absl::string_view base;
  uint64_t suffix = 0;
};
inline constexpr uint64_t kMaxSuffix = 1'000'000'000;  // "x_999999999"
NameParts SplitName(absl::string_view name);
// Replaces `out` by the name. `suffix` is at most kMaxSuffix.
void JoinName(absl::string_view base, uint64_t suffix, std::string* out);

// Returns the suffix that is expected after `suffix`.
inline uint64_t NextSuffix(uint64_t suffix) { return suffix == 0 ? 2 : suffix + 1; }

}  // namespace graphnet::proto_internal

#endif  // GRAPHNET_FORMATS_PROTOBUF_NAMES_H_

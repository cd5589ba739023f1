// Lists names in a message.
#ifndef GRAPHNET_BASE_LISTED_NAMES_H_
#define GRAPHNET_BASE_LISTED_NAMES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace graphnet {

// Returns "a, b and 3 more". The names must be printable.
inline std::string ListedNames(const std::vector<std::string>& names) {
  constexpr size_t kMost = 8;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMost; ++i)
    absl::StrAppend(&text, i == 0 ? "" : ", ", names[i]);
  if (names.size() > kMost) absl::StrAppend(&text, " and ", names.size() - kMost, " more");
  return text;
}

}  // namespace graphnet

#endif  // GRAPHNET_BASE_LISTED_NAMES_H_

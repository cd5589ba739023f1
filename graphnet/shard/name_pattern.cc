#include "graphnet/shard/name_pattern.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace graphnet::spmd {
namespace {

bool FitsComponent(absl::string_view pattern, absl::string_view component) {
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(pattern, absl::MaxSplits('-', 1));
  int64_t first = 0;
  int64_t last = 0;
  int64_t number = 0;
  if (absl::SimpleAtoi(ends.first, &first) && absl::SimpleAtoi(ends.second, &last))
    return absl::SimpleAtoi(component, &number) && first <= number && number <= last;
  return FitsPattern(pattern, component);
}

}  // namespace

bool IsPattern(absl::string_view name) {
  return absl::StrContains(name, '*') || absl::StrContains(name, '?');
}

bool FitsPattern(absl::string_view pattern, absl::string_view name) {
  size_t p = 0;
  size_t n = 0;
  // Positions to resume at if the last * must match more text.
  size_t after_star = absl::string_view::npos;
  size_t longer = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      longer = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (after_star != absl::string_view::npos) {
      p = after_star;
      n = ++longer;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool FitsModulePath(absl::string_view pattern, absl::string_view path) {
  if (path.empty()) return false;
  const std::vector<absl::string_view> wanted = absl::StrSplit(pattern, '.');
  const std::vector<absl::string_view> there = absl::StrSplit(path, '.');
  for (size_t first = 0; first + wanted.size() <= there.size(); ++first) {
    size_t i = 0;
    while (i < wanted.size() && FitsComponent(wanted[i], there[first + i])) ++i;
    if (i == wanted.size()) return true;
  }
  return false;
}

}  // namespace graphnet::spmd

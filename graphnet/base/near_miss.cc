#include "graphnet/base/near_miss.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"

namespace graphnet {

size_t EditDistance(absl::string_view a, absl::string_view b, size_t most) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > most) return most + 1;
  // Rows of distances for the prefixes of `a` with i - 2, i - 1 and i characters.
  std::vector<size_t> last2, last, row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    last2 = std::move(last);
    last = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], last2[j - 2] + 1);
    }
  }
  return std::min(row[b.size()], most + 1);
}

namespace {

// Returns whether `name` is `word` with letters left out after the first: attn for attention.
bool Abbreviates(absl::string_view name, absl::string_view word) {
  constexpr size_t kFewest = 3;  // fewer letters occur in too many words
  if (name == word) return true;
  if (name.size() < kFewest || name[0] != word[0]) return false;
  for (const char c : word)
    if (!name.empty() && name[0] == c) name.remove_prefix(1);
  return name.empty();
}

// Returns whether the parts of `name` between dots abbreviate the last parts of `whole`.
bool AbbreviatesEnd(absl::string_view name, absl::string_view whole) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '.');
  const std::vector<absl::string_view> words = absl::StrSplit(whole, '.');
  if (parts.size() > words.size()) return false;
  for (size_t i = 1; i <= parts.size(); ++i) {
    const absl::string_view word = words[words.size() - i];
    if (word.empty() || !Abbreviates(parts[parts.size() - i], word)) return false;
  }
  return true;
}

}  // namespace

absl::string_view NearMiss(absl::string_view name, absl::Span<const absl::string_view> names) {
  size_t best = 2 + name.size() / 5;
  absl::string_view nearest;
  for (const absl::string_view candidate : names) {
    const size_t distance = EditDistance(name, candidate, best);
    if (distance >= best) continue;
    best = distance;
    nearest = candidate;
  }
  if (!nearest.empty() || name.empty()) return nearest;
  for (const absl::string_view candidate : names) {
    absl::string_view before = candidate;
    if (absl::ConsumeSuffix(&before, name) && absl::EndsWith(before, ".")) return candidate;
  }
  for (const absl::string_view candidate : names)
    if (AbbreviatesEnd(name, candidate)) return candidate;
  return nearest;
}

std::string NearMissHint(absl::string_view name, absl::Span<const absl::string_view> names) {
  const absl::string_view near = NearMiss(name, names);
  return near.empty() ? "" : absl::StrCat("; did you mean ", Printable(near), "?");
}

}  // namespace graphnet

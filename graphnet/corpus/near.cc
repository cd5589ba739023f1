#include "graphnet/corpus/near.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

// Returns the least number of features that two graphs share if one has `size` and their likeness is
// at least `threshold`. Rounding never makes it too large.
size_t LeastShared(size_t size, double threshold) {
  const double least = threshold * static_cast<double>(size) * (1 - 1e-12);
  return std::max<size_t>(1, static_cast<size_t>(std::ceil(least)));
}

// Returns the number of common features, or a smaller one as soon as `least` cannot be reached.
template <typename T>
size_t CountShared(absl::Span<const T> a, absl::Span<const T> b, size_t least) {
  size_t shared = 0;
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (shared + std::min(a.size() - i, b.size() - j) < least) return shared;
    const T x = a[i], y = b[j];
    shared += x == y ? 1 : 0;
    i += x <= y ? 1 : 0;
    j += y <= x ? 1 : 0;
  }
  return shared;
}

double IndexOf(size_t shared, size_t a, size_t b) {
  return a == 0 || b == 0 ? 0 : static_cast<double>(shared) / static_cast<double>(a + b - shared);
}

// Returns the first ones, of which two graphs share one.
template <typename T>
absl::Span<const T> FirstOf(absl::Span<const T> features, double threshold) {
  if (features.empty()) return features;
  return features.subspan(0, features.size() - LeastShared(features.size(), threshold) + 1);
}

absl::Status CheckThreshold(double threshold) {
  if (threshold > 0 && threshold <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a likeness must be above 0 and at most 1, not ", threshold));
}

}  // namespace

absl::StatusOr<FeatureList> PrefixTokens(FeatureList features, double threshold) {
  RETURN_IF_ERROR(CheckThreshold(threshold));
  return FirstOf(features, threshold);
}

double Jaccard(FeatureList a, FeatureList b) {
  return IndexOf(CountShared(a, b, /*least=*/0), a.size(), b.size());
}

absl::StatusOr<std::vector<NearPair>> NearPairs(absl::Span<const FeatureList> graphs,
                                                double threshold, size_t max_pairs) {
  RETURN_IF_ERROR(CheckThreshold(threshold));
  // Graphs with equal features are compared once.
  absl::flat_hash_map<FeatureList, std::vector<int32_t>> groups;
  for (size_t i = 0; i < graphs.size(); ++i) {
    if (!graphs[i].empty()) groups[graphs[i]].push_back(static_cast<int32_t>(i));
  }
  struct Group {
    FeatureList features;
    const std::vector<int32_t>* members;
    std::vector<uint32_t> ranks = {};  // the features, by their place in the order of frequency
  };
  std::vector<Group> all;
  for (const auto& [features, members] : groups) all.push_back({features, &members});
  absl::c_sort(all, [](const Group& a, const Group& b) {
    return a.features.size() != b.features.size() ? a.features.size() < b.features.size()
                                                  : a.members->front() < b.members->front();
  });
  absl::flat_hash_map<uint64_t, uint32_t> ranks;  // at first the frequency
  for (const Group& group : all) {
    for (const uint64_t feature : group.features) ++ranks[feature];
  }
  std::vector<std::pair<uint32_t, uint64_t>> order;
  order.reserve(ranks.size());
  for (const auto& [feature, frequency] : ranks) order.push_back({frequency, feature});
  absl::c_sort(order);
  for (uint32_t i = 0; i < order.size(); ++i) ranks[order[i].second] = i;
  for (Group& group : all) {
    for (const uint64_t feature : group.features) group.ranks.push_back(ranks[feature]);
    absl::c_sort(group.ranks);
  }

  std::vector<NearPair> pairs;
  bool is_full = false;
  const auto add = [&](int32_t a, int32_t b, double jaccard) {
    is_full |= pairs.size() >= max_pairs;
    if (!is_full) pairs.push_back({std::min(a, b), std::max(a, b), jaccard});
  };
  // The groups so far that have a feature among their first, the smallest first.
  std::vector<std::vector<uint32_t>> with_token(order.size());
  std::vector<uint32_t> met(all.size(), 0);  // the number of the last group that met it, from 1
  for (uint32_t i = 0; i < all.size() && !is_full; ++i) {
    const Group& now = all[i];
    for (size_t k = 0; k < now.members->size() && !is_full; ++k) {
      for (size_t l = k + 1; l < now.members->size() && !is_full; ++l)
        add((*now.members)[k], (*now.members)[l], 1);
    }
    const size_t size = now.ranks.size();
    const size_t smallest = LeastShared(size, threshold);
    for (const uint32_t token : FirstOf(absl::MakeConstSpan(now.ranks), threshold)) {
      std::vector<uint32_t>& others = with_token[token];
      for (size_t k = others.size(); k-- > 0 && !is_full;) {
        const Group& other = all[others[k]];
        if (other.ranks.size() < smallest) break;
        if (met[others[k]] == i + 1) continue;
        met[others[k]] = i + 1;
        // J >= t means that they share at least t / (1 + t) of the sum of both sizes.
        const size_t least = LeastShared(size + other.ranks.size(), threshold / (1 + threshold));
        const size_t shared =
            CountShared(absl::MakeConstSpan(now.ranks), absl::MakeConstSpan(other.ranks), least);
        const double jaccard = IndexOf(shared, size, other.ranks.size());
        if (jaccard < threshold) continue;
        for (const int32_t a : *now.members) {
          for (const int32_t b : *other.members) add(a, b, jaccard);
        }
      }
      others.push_back(i);
    }
  }
  if (is_full) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are more than ", max_pairs, " pairs that are so much alike"));
  }
  absl::c_sort(pairs, [](const NearPair& x, const NearPair& y) {
    return x.a != y.a ? x.a < y.a : x.b < y.b;
  });
  return pairs;
}

}  // namespace graphnet

#include "graphnet/decompose/balance.h"

#include <algorithm>
#include <cstddef>
#include <deque>

#include "absl/strings/str_cat.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

constexpr int64_t kMaxTableEntries = int64_t{1} << 26;
constexpr int64_t kMaxBytes = int64_t{1} << 50;  // limit for one value, so sums do not overflow

std::optional<int64_t> MetaBytes(const Module& module, const ValueMeta& meta) {
  if (meta.is_tuple) {
    int64_t sum = 0;
    for (const ValueMeta* element : meta.elements) {
      const std::optional<int64_t> bytes = MetaBytes(module, *element);
      if (!bytes) return std::nullopt;
      sum = std::min(kMaxBytes, sum + *bytes);
    }
    return sum;
  }
  if (meta.tensor == nullptr || !meta.tensor->has_shape) return std::nullopt;
  int64_t bytes = DTypeBytes(meta.tensor->dtype);
  if (bytes == 0) return std::nullopt;
  for (const Dim& dim : meta.tensor->shape) {
    const std::optional<int64_t> size =
        dim.is_static() ? dim.value : EvaluateWithExamples(module, *dim.expr);
    if (!size || *size < 0) return std::nullopt;
    if (*size == 0) return 0;
    bytes = *size > kMaxBytes / bytes ? kMaxBytes : bytes * *size;
  }
  return bytes;
}

}  // namespace

std::optional<int64_t> ValueBytes(const Node& node) {
  if (node.meta() == nullptr) return std::nullopt;
  return MetaBytes(*node.graph()->module(), *node.meta());
}

std::vector<Traffic> CutTraffic(const GraphIndex& index, bool by_bytes) {
  const auto n = static_cast<size_t>(index.num_operators());
  std::vector<Traffic> traffic(n + 2);
  for (size_t k = 0; k < n; ++k) {
    const size_t i = index.operator_node(static_cast<int64_t>(k));
    if (index.last_use(i) == 0) continue;
    const auto last = static_cast<size_t>(index.operator_of(index.last_use(i)));
    const std::optional<int64_t> bytes = by_bytes ? ValueBytes(*index.node(i)) : std::nullopt;
    const Traffic value = {bytes.value_or(0), bytes.has_value() ? 0 : 1};
    // The value crosses the cuts k + 1 to `last`.
    traffic[k + 1] = traffic[k + 1] + value;
    traffic[last + 1] = traffic[last + 1] + Traffic{-value.bytes, -value.unknown};
  }
  for (size_t p = 1; p < traffic.size(); ++p) traffic[p] = traffic[p] + traffic[p - 1];
  traffic.pop_back();
  return traffic;
}

std::optional<std::vector<int64_t>> LeastTrafficCuts(absl::Span<const Traffic> traffic,
                                                     const Regions& regions, int k, int64_t least,
                                                     int64_t most) {
  const auto n = static_cast<int64_t>(traffic.size()) - 1;
  constexpr uint32_t kNone = ~uint32_t{0};
  std::vector<bool> allowed(traffic.size());
  for (int64_t p = 0; p <= n; ++p) allowed[static_cast<size_t>(p)] = regions.OpenAt(p) == nullptr;
  // best[p]: the least traffic of `j` pieces that end at p, without the cut at p.
  std::vector<std::optional<Traffic>> best(traffic.size());
  std::vector<std::vector<uint32_t>> from(static_cast<size_t>(k));
  best[0] = Traffic();
  for (int j = 1; j <= k; ++j) {
    std::vector<std::optional<Traffic>> next(traffic.size());
    std::vector<uint32_t>& previous = from[static_cast<size_t>(j - 1)];
    previous.assign(traffic.size(), kNone);
    // Possible starts of the piece, the best one first; each is later and worse than the one
    // before.
    std::deque<int64_t> starts;
    const auto cost = [&](int64_t q) {
      return *best[static_cast<size_t>(q)] + (q == 0 ? Traffic() : traffic[static_cast<size_t>(q)]);
    };
    for (int64_t p = least; p <= n; ++p) {
      const int64_t q = p - least;
      if (best[static_cast<size_t>(q)].has_value()) {
        while (!starts.empty() && cost(q) < cost(starts.back())) starts.pop_back();
        starts.push_back(q);
      }
      while (!starts.empty() && starts.front() < p - most) starts.pop_front();
      if (starts.empty() || !allowed[static_cast<size_t>(p)]) continue;
      next[static_cast<size_t>(p)] = cost(starts.front());
      previous[static_cast<size_t>(p)] = static_cast<uint32_t>(starts.front());
    }
    best = std::move(next);
  }
  if (!best[static_cast<size_t>(n)].has_value()) return std::nullopt;
  std::vector<int64_t> cuts;
  auto p = static_cast<size_t>(n);
  for (size_t j = static_cast<size_t>(k); j-- > 0;) {
    p = from[j][p];
    if (j > 0) cuts.push_back(static_cast<int64_t>(p));
  }
  std::reverse(cuts.begin(), cuts.end());
  return cuts;
}

absl::StatusOr<std::vector<int64_t>> BalancedCuts(const GraphIndex& index, const Regions& regions,
                                                  int k) {
  const int64_t n = index.num_operators();
  k = static_cast<int>(std::min<int64_t>(k, std::max<int64_t>(n, 1)));
  if (k > kMaxTableEntries / (n + 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat(k, " pieces of ", n, " operators are more than can be balanced"));
  }
  const std::vector<Traffic> traffic = CutTraffic(index);
  int64_t places = 0;  // positions where a cut is allowed
  for (int64_t p = 1; p < n; ++p) places += regions.OpenAt(p) == nullptr ? 1 : 0;
  k = static_cast<int>(std::min<int64_t>(k, places + 1));
  if (k <= 1) return std::vector<int64_t>();
  const double mean = static_cast<double>(n) / k;
  for (double slack = 0.5;; slack *= 2) {
    const auto least = std::max<int64_t>(1, static_cast<int64_t>(mean * (1 - slack)));
    const auto most = std::min<int64_t>(n, static_cast<int64_t>(mean * (1 + slack)) + 1);
    if (auto cuts = LeastTrafficCuts(traffic, regions, k, least, most)) return *std::move(cuts);
    // The loop ends: with least 1 and most n there are cuts, since there are k - 1 places.
  }
}

}  // namespace graphnet

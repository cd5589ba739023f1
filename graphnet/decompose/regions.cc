#include "graphnet/decompose/regions.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/string_view.h"

namespace graphnet {
namespace {

struct Bracket {
  absl::string_view open;
  absl::string_view close;
};
constexpr Bracket kBrackets[] = {
    {"_vmap_increment_nesting", "_vmap_decrement_nesting"},
    {"_enter_autocast", "_exit_autocast"},
};
constexpr size_t kNumBrackets = sizeof kBrackets / sizeof kBrackets[0];

absl::string_view LastComponent(absl::string_view target) {
  const size_t dot = target.rfind('.');
  return dot == absl::string_view::npos ? target : target.substr(dot + 1);
}

}  // namespace

int64_t NumOperators(const Graph& graph) {
  int64_t n = 0;
  for (const Node* node : graph.nodes()) n += IsOperator(*node) ? 1 : 0;
  return n;
}

Regions::Regions(const Graph& graph) {
  size_t open[kNumBrackets] = {};  // how many of each kind
  size_t depth = 0;                // how many of all
  Region region;
  int64_t position = 0;
  for (const Node* node : graph.nodes()) {
    if (!IsOperator(*node)) continue;
    if (node->op() == Op::kCallFunction) {
      const absl::string_view name = LastComponent(node->target());
      for (size_t kind = 0; kind < kNumBrackets; ++kind) {
        if (name == kBrackets[kind].open) {
          if (depth++ == 0) region = {position, 0, node};
          ++open[kind];
        } else if (name == kBrackets[kind].close && open[kind] > 0) {
          --open[kind];
          if (--depth > 0) continue;
          region.last = position;
          regions_.push_back(region);
        }
      }
    }
    ++position;
  }
  if (depth > 0) {
    region.last = position - 1;
    regions_.push_back(region);
  }
}

const Regions::Region* Regions::Find(int64_t position) const {
  const auto it = std::lower_bound(regions_.begin(), regions_.end(), position,
                                   [](const Region& r, int64_t p) { return r.last < p; });
  return it != regions_.end() && it->first < position ? &*it : nullptr;
}

const Node* Regions::OpenAt(int64_t position) const {
  const Region* region = Find(position);
  return region == nullptr ? nullptr : region->opener;
}

int64_t Regions::NextCut(int64_t position) const {
  // A region may open right where another one closes, but not before: the cut
  // between the two is allowed.
  const Region* region = Find(position);
  return region == nullptr ? position : region->last + 1;
}

}  // namespace graphnet

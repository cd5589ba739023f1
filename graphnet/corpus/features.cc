#include "graphnet/corpus/features.h"

#include <algorithm>
#include <array>

#include "absl/algorithm/container.h"
#include "graphnet/corpus/keys.h"
#include "graphnet/ir/node_table.h"

namespace graphnet {
namespace {

using corpus_internal::Mix;

constexpr uint64_t kHashBits = ~uint64_t{0} >> 2;

}  // namespace

std::vector<uint64_t> FeaturesOf(const Module& module,
                                 absl::FunctionRef<uint64_t(const Node& call)> label) {
  using Labels = std::array<uint64_t, kFeatureDepth + 1>;
  std::vector<uint64_t> all;  // labels with the bits of their depth
  all.reserve(module.num_nodes() * (kFeatureDepth + 1));
  NodeTable<Labels> known;
  for (const Graph* graph : module.graphs()) {
    for (const Node* node : graph->nodes()) {
      Labels labels;
      const uint64_t kind = Mix(static_cast<uint64_t>(node->op()), 0);
      const bool is_named = node->op() == Op::kCallFunction || node->op() == Op::kCallMethod;
      labels[0] = is_named ? label(*node) : kind;
      for (size_t depth = 1; depth < labels.size(); ++depth) labels[depth] = labels[depth - 1];
      node->ForEachOperand([&](const Node* operand) {
        const Labels& of = known[operand];
        for (size_t depth = 1; depth < labels.size(); ++depth)
          labels[depth] = Mix(labels[depth], of[depth - 1]);
      });
      for (size_t depth = 0; depth < labels.size(); ++depth) {
        // Nothing lies deeper if the label stays the same.
        if (depth > 0 && labels[depth] == labels[depth - 1]) break;
        all.push_back((labels[depth] & kHashBits) | (kFeatureDepth - depth) << 62);
      }
      known[node] = labels;
    }
  }
  // Equal labels lie together now. The first keeps its number, the others get that of their
  // occurrence.
  absl::c_sort(all);
  std::vector<uint64_t> features;
  uint64_t occurrence = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    occurrence = i > 0 && all[i] == all[i - 1] ? occurrence + 1 : 1;
    if (occurrence > kMaxOccurrences) continue;
    features.push_back(occurrence == 1
                           ? all[i]
                           : (Mix(all[i], occurrence) & kHashBits) | (all[i] & ~kHashBits));
  }
  absl::c_sort(features);
  features.erase(std::unique(features.begin(), features.end()), features.end());
  return features;
}

}  // namespace graphnet

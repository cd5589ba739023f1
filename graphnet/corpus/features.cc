#include "graphnet/corpus/features.h"

#include <algorithm>
#include <array>

#include "absl/algorithm/container.h"
#include "graphnet/corpus/keys.h"
#include "graphnet/ir/node_table.h"

namespace graphnet {
namespace {

using corpus_internal::Mix;

// A feature, from its highest bit: 2 bits 3 - depth, 6 bits 63 - calls in the label, 3 bits
// 8 - occurrence, and 53 bits of the label.
constexpr int kHashBits = 53;
constexpr int kOccurrenceBits = 3;
constexpr int kCallBits = 6;
constexpr uint64_t kMaxCalls = (uint64_t{1} << kCallBits) - 1;
static_assert(kMaxOccurrences == 1 << kOccurrenceBits);
static_assert(kHashBits + kOccurrenceBits + kCallBits == 62);

struct Label {
  uint64_t hash = 0;
  uint64_t calls = 0;  // at most kMaxCalls

  // Returns the feature of the last occurrence that counts.
  uint64_t AtDepth(size_t depth) const {
    return (kFeatureDepth - depth) << 62 | (kMaxCalls - calls) << (kHashBits + kOccurrenceBits) |
           hash >> (64 - kHashBits);
  }
};

}  // namespace

std::vector<uint64_t> FeaturesOf(const Module& module,
                                 absl::FunctionRef<uint64_t(const Node& call)> label) {
  using Labels = std::array<Label, kFeatureDepth + 1>;
  std::vector<uint64_t> all;
  all.reserve(module.num_nodes() * (kFeatureDepth + 1));
  NodeTable<Labels> known(module);
  for (const Graph* graph : module.graphs()) {
    for (const Node* node : graph->nodes()) {
      const bool is_named = node->op() == Op::kCallFunction || node->op() == Op::kCallMethod;
      const Label own = {
          .hash = is_named ? label(*node) : Mix(static_cast<uint64_t>(node->op()), 0),
          .calls = node->is_call() ? uint64_t{1} : 0};
      Labels labels;
      labels.fill(own);
      node->ForEachOperand([&](const Node* operand) {
        const Labels& of = known[operand];
        for (size_t depth = 1; depth < labels.size(); ++depth) {
          labels[depth].hash = Mix(labels[depth].hash, of[depth - 1].hash);
          labels[depth].calls = std::min(labels[depth].calls + of[depth - 1].calls, kMaxCalls);
        }
      });
      for (size_t depth = 0; depth < labels.size(); ++depth) {
        // Nothing lies deeper if the label stays the same.
        if (depth > 0 && labels[depth].hash == labels[depth - 1].hash) break;
        all.push_back(labels[depth].AtDepth(depth));
      }
      known[node] = labels;
    }
  }
  absl::c_sort(all);
  std::vector<uint64_t> features;
  uint64_t occurrence = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    occurrence = i > 0 && all[i] == all[i - 1] ? occurrence + 1 : 1;
    if (occurrence <= kMaxOccurrences)
      features.push_back(all[i] | (kMaxOccurrences - occurrence) << kHashBits);
  }
  absl::c_sort(features);
  return features;
}

}  // namespace graphnet

#include "graphnet/facts/cost/alive_bytes.h"

#include <algorithm>
#include <limits>

#include "graphnet/ir/module.h"

namespace graphnet {

AliveBytes::Memory AliveBytes::Take(const Node& node, int64_t bytes) {
  parents_.push_back(parents_.size());
  taken_[&node] += bytes;
  Share(node, parents_.size() - 1);
  return parents_.size() - 1;
}

void AliveBytes::Share(const Node& node, Memory memory) {
  if (memory == kNone) return;
  Memory& own = memory_of_[&node];
  if (own == kNone) {
    own = memory;
  } else {
    parents_[Root(own)] = Root(memory);
  }
}

AliveBytes::Memory AliveBytes::Root(Memory memory) {
  while (parents_[memory] != memory) {
    parents_[memory] = parents_[parents_[memory]];
    memory = parents_[memory];
  }
  return memory;
}

std::vector<std::pair<const Node*, int64_t>> AliveBytes::ByNode() {
  std::vector<const Node*> nodes;
  std::vector<size_t> last(parents_.size());  // index of the last node that uses each memory
  for (const Node* node : graph_.nodes()) {
    const auto use = [&](const Node* used) { last[Root(memory_of_[used])] = nodes.size(); };
    use(node);
    node->ForEachOperand(use);
    nodes.push_back(node);
  }
  std::vector<absl::int128> given_back(nodes.size());
  absl::int128 alive = kept_;
  std::vector<std::pair<const Node*, int64_t>> result;
  result.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const absl::int128 taken = taken_[nodes[i]];
    if (taken > 0) given_back[last[Root(memory_of_[nodes[i]])]] += taken;
    alive += taken;
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    result.push_back({nodes[i], static_cast<int64_t>(std::min<absl::int128>(alive, kMost))});
    alive -= given_back[i];
  }
  return result;
}

}  // namespace graphnet

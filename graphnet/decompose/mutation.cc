#include "graphnet/decompose/mutation.h"

#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "graphnet/facts/memory/memory_use.h"

namespace graphnet {
namespace {

class UnionFind {
 public:
  explicit UnionFind(size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0u); }
  uint32_t Find(uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Join(uint32_t a, uint32_t b) { parent_[Find(a)] = Find(b); }

 private:
  std::vector<uint32_t> parent_;
};

}  // namespace

MutableClasses::MutableClasses(const GraphIndex& index) : class_of_(index.size(), kNone) {
  UnionFind sets(index.size());
  std::vector<std::pair<uint32_t, uint32_t>> writes;  // value, writing node
  absl::flat_hash_map<absl::string_view, uint32_t> attributes;
  for (uint32_t i = 0; i < index.size(); ++i) {
    const Node& node = *index.node(i);
    if (node.op() == Op::kGetAttr) {
      const auto [it, first] = attributes.try_emplace(node.target(), i);
      if (!first) sets.Join(i, it->second);
      continue;
    }
    if (!node.is_call()) continue;
    const MemoryUse use = MemoryUseOf(node);
    for (const Node* n : use.shared) sets.Join(i, static_cast<uint32_t>(index.IndexOf(n)));
    for (const Node* n : use.written)
      writes.push_back({static_cast<uint32_t>(index.IndexOf(n)), i});
  }
  if (writes.empty()) return;
  absl::flat_hash_map<uint32_t, int> class_of_set;
  for (const auto& [value, by] : writes) {
    const auto [it, first] =
        class_of_set.try_emplace(sets.Find(value), static_cast<int>(last_write_.size()));
    if (first) {
      first_write_.push_back(by);
      last_write_.push_back(by);
    }
    last_write_[static_cast<size_t>(it->second)] = by;  // Writes come in order.
  }
  members_.resize(last_write_.size());
  for (uint32_t i = 0; i < index.size(); ++i) {
    const auto it = class_of_set.find(sets.Find(i));
    if (it == class_of_set.end()) continue;
    class_of_[i] = it->second;
    members_[static_cast<size_t>(it->second)].push_back(i);
  }
}

}  // namespace graphnet

#include "graphnet/decompose/partition.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "graphnet/decompose/graph_index.h"
#include "graphnet/decompose/mutation.h"
#include "graphnet/ir/shared_walk.h"
#include "graphnet/ops/callable.h"

namespace graphnet {
namespace {

// Steps that merging may take for each node and operand.
constexpr uint64_t kMaxSteps = 256;

// Returns whether no other call may move over this one.
bool IsBarrier(const Node& node) {
  if (!node.is_call()) return false;
  const Callable callee = CalleeOf(node);
  return callee.bracket() != Schema::Bracket::kNone ||
         absl::c_any_of(callee.overloads, [](const Schema& s) { return s.is_statement; });
}

class Partitioner {
 public:
  Partitioner(const GraphIndex& index, absl::FunctionRef<bool(const Node&)> is_supported)
      : index_(index),
        size_(static_cast<size_t>(index.num_operators())),
        before_(size_),
        behind_(size_),
        supported_(size_),
        level_(size_),
        segment_(size_),
        group_(size_) {
    FindDependencies();
    for (size_t i = 0; i < size_; ++i) {
      const Node& node = NodeAt(i);
      const bool is_barrier = IsBarrier(node);
      supported_[i] = !is_barrier && is_supported(node);
      if (is_barrier) ++num_segments_;
      segment_[i] = num_segments_;
      if (is_barrier) ++num_segments_;
    }
  }

  std::vector<std::vector<Node*>> Run(const PartitionOptions& options) {
    FindGroups();
    Merge(options);
    std::map<size_t, std::vector<Node*>> by_first;
    for (size_t i = 0; i < size_; ++i) {
      if (supported_[i]) by_first[members_[GroupOf(i)][0]].push_back(index_.node(NodeNumber(i)));
    }
    std::vector<std::vector<Node*>> groups;
    for (auto& [first, nodes] : by_first) {
      if (nodes.size() >= options.min_operators) groups.push_back(std::move(nodes));
    }
    return groups;
  }

 private:
  size_t NodeNumber(size_t i) const { return index_.operator_node(static_cast<int64_t>(i)); }
  const Node& NodeAt(size_t i) const { return *index_.node(NodeNumber(i)); }

  // Finds the operators that must come before each: those whose values it takes, and the one before it
  // on memory that the graph writes to.
  void FindDependencies() {
    const auto add = [&](size_t from, size_t to) {
      before_[to].push_back(static_cast<uint32_t>(from));
      behind_[from].push_back(static_cast<uint32_t>(to));
      ++num_edges_;
    };
    for (size_t i = 0; i < size_; ++i) {
      for (const uint32_t operand : index_.operands(NodeNumber(i))) {
        if (index_.operator_of(operand) >= 0)
          add(static_cast<size_t>(index_.operator_of(operand)), i);
      }
    }
    const MutableClasses classes(index_);
    if (classes.size() == 0) return;
    std::vector<int64_t> last(classes.size(), -1);  // by class: the operator that touched it last
    for (size_t i = 0; i < size_; ++i) {
      const auto touch = [&](int c) {
        if (c == MutableClasses::kNone) return;
        int64_t& before = last[static_cast<size_t>(c)];
        if (before >= 0 && before != static_cast<int64_t>(i)) add(static_cast<size_t>(before), i);
        before = static_cast<int64_t>(i);
      };
      touch(classes.ClassOf(NodeNumber(i)));
      for (const uint32_t operand : index_.operands(NodeNumber(i))) touch(classes.ClassOf(operand));
    }
  }

  size_t GroupOf(size_t i) {
    while (group_[i] != i) i = group_[i] = group_[group_[i]];
    return i;
  }

  // Along a path, the level rises wherever it enters or leaves supported operators. So a path between
  // two supported operators of one level has supported operators of that level only, and the connected
  // ones of one level are a group that no path leaves and comes back to.
  void FindGroups() {
    std::iota(group_.begin(), group_.end(), size_t{0});
    uint32_t floor = 0;  // the least level behind the last barrier
    uint32_t most = 0;
    for (size_t i = 0; i < size_; ++i) {
      const bool is_new = i > 0 && segment_[i] != segment_[i - 1];
      if (is_new) floor = most + 1;
      uint32_t level = floor;
      for (const uint32_t b : before_[i])
        level = std::max(level, level_[b] + (supported_[b] == supported_[i] ? 0 : 1));
      level_[i] = level;
      most = std::max(most, level);
      if (!supported_[i]) continue;
      for (const uint32_t b : before_[i]) {
        if (supported_[b] && level_[b] == level) group_[GroupOf(b)] = GroupOf(i);
      }
    }
    members_.resize(size_);
    for (size_t i = 0; i < size_; ++i) {
      if (supported_[i]) members_[GroupOf(i)].push_back(static_cast<uint32_t>(i));
    }
  }

  // Joins groups with those that use their values, where that makes no cycle.
  void Merge(const PartitionOptions& options) {
    std::map<std::pair<size_t, size_t>, size_t>
        exchanged;  // how many values go from group to group
    for (size_t i = 0; i < size_; ++i) {
      if (!supported_[i]) continue;
      for (const uint32_t b : before_[i]) {
        if (supported_[b] && GroupOf(b) != GroupOf(i)) ++exchanged[{GroupOf(b), GroupOf(i)}];
      }
    }
    std::vector<std::pair<std::pair<size_t, size_t>, size_t>> pairs(exchanged.begin(),
                                                                    exchanged.end());
    absl::c_stable_sort(pairs, [](const auto& a, const auto& b) { return a.second > b.second; });
    Budget budget(kMaxSteps * (size_ + num_edges_ + 1));
    for (const auto& [pair, count] : pairs) {
      const size_t a = GroupOf(pair.first), b = GroupOf(pair.second);
      if (a == b || segment_[members_[a][0]] != segment_[members_[b][0]]) continue;
      if (LeadsAround(a, b, &budget) || LeadsAround(b, a, &budget)) continue;
      if (options.merges != nullptr && !options.merges(NodesOf(a), NodesOf(b))) continue;
      std::vector<uint32_t> both;
      absl::c_merge(members_[a], members_[b], std::back_inserter(both));
      members_[b].clear();
      members_[a] = std::move(both);
      group_[b] = a;
      joined_.push_back(a);
    }
  }

  std::vector<Node*> NodesOf(size_t group) const {
    std::vector<Node*> nodes;
    for (const uint32_t i : members_[group]) nodes.push_back(index_.node(NodeNumber(i)));
    return nodes;
  }

  // Returns whether a path leads from `a` over other operators to `b`, or whether the budget ends before
  // that is known. A path that enters a group may leave it at any of its operators, since the group will
  // be one call.
  bool LeadsAround(size_t a, size_t b, Budget* budget) {
    std::vector<bool> seen(size_);
    std::vector<uint32_t> open;
    const auto visit = [&](uint32_t i) {
      if (seen[i]) return;
      seen[i] = true;
      open.push_back(i);
    };
    if (!budget->Charge(size_ / 64 + 1)) return true;
    const uint32_t highest = HighestBefore(b);
    for (const uint32_t i : members_[a]) {
      seen[i] = true;
      for (const uint32_t next : behind_[i]) {
        if (!supported_[next] || (GroupOf(next) != a && GroupOf(next) != b)) visit(next);
      }
    }
    while (!open.empty()) {
      const uint32_t i = open.back();
      open.pop_back();
      if (!budget->Charge(behind_[i].size() + 1)) return true;
      if (supported_[i]) {
        for (const uint32_t other : members_[GroupOf(i)]) visit(other);
      }
      for (const uint32_t next : behind_[i]) {
        if (supported_[next] && GroupOf(next) == b) return true;
        if (level_[next] <= highest) visit(next);
      }
    }
    return false;
  }

  // Returns the highest level from which a path may lead to a group. Levels rise along a path, but for a
  // joined group, which may be left below the level at which it was entered.
  uint32_t HighestBefore(size_t group) {
    const auto levels = [&](size_t g) {
      uint32_t least = level_[members_[g][0]], most = least;
      for (const uint32_t i : members_[g]) {
        least = std::min(least, level_[i]);
        most = std::max(most, level_[i]);
      }
      return std::pair(least, most);
    };
    uint32_t highest = levels(group).second;
    std::vector<std::pair<uint32_t, uint32_t>> spans;
    for (const size_t g : joined_) {
      if (GroupOf(g) == g) spans.push_back(levels(g));
    }
    absl::c_sort(spans);
    for (const auto& [least, most] : spans) {
      if (least <= highest) highest = std::max(highest, most);
    }
    return highest;
  }

  const GraphIndex& index_;
  const size_t size_;  // operators
  std::vector<std::vector<uint32_t>> before_;
  std::vector<std::vector<uint32_t>> behind_;
  std::vector<bool> supported_;
  std::vector<uint32_t> level_;
  std::vector<uint32_t> segment_;               // how many barriers are before it, twice
  std::vector<size_t> group_;                   // a forest: the root is the group
  std::vector<std::vector<uint32_t>> members_;  // by group, in order
  std::vector<size_t> joined_;  // groups that Merge has made, some of them more than once
  uint64_t num_edges_ = 0;
  uint32_t num_segments_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<std::vector<Node*>>> Partition(
    Graph* graph, absl::FunctionRef<bool(const Node&)> is_supported,
    const PartitionOptions& options) {
  if (graph->output() == nullptr) return absl::InvalidArgumentError("the graph has no output");
  const GraphIndex index(*graph);
  return Partitioner(index, is_supported).Run(options);
}

}  // namespace graphnet

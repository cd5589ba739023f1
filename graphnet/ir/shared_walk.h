// Values are shared. A list, a size expression or a body may be a part of many others, so that
// N of them can stand for 2^N when each is written out wherever it is referred to. This header
// has the three things that keep code linear in what is shared:
//
//  * SharedWalk visits each shared value once, parts before wholes, and finds a value that
//    holds itself;
//  * Expansions says how large and how deep a value is when it is written out;
//  * Budget is charged before an expansion takes memory.
//
//   Expansions<const SymExpr*> expansions;
//   const std::optional<Expansion> all = expansions.Of(expr, SymParts());
//   if (!all || !budget.Charge(all->size)) return NodeError(node, "…");
//   Print(*expr);                                // takes all->size steps
//
//   SharedWalk<const SymExpr*> walk;             // or do the work once for each value
//   walk.Run(expr, SymParts(), [&](const SymExpr* e) { values[e] = Compute(*e, values); });
//
// None of them recurses. All take time and memory in proportion to the values that they meet
// and the references between those.
#ifndef GRAPHNET_IR_SHARED_WALK_H_
#define GRAPHNET_IR_SHARED_WALK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/node.h"
#include "graphnet/ir/tensor_meta.h"

namespace graphnet {

// What an argument may be when it is written out, over all arguments of a node: more is held by
// no text file and drawn on no page.
inline constexpr uint64_t kMaxWrittenOut = uint64_t{1} << 26;
// What an expression may be when it is written out, in terms.
inline constexpr uint64_t kMaxTerms = uint64_t{1} << 20;

// How much an expansion may still yield. The unit is what the owner says it is: values,
// expressions, nodes.
class Budget {
 public:
  explicit Budget(uint64_t limit) : left_(limit) {}
  // False, and nothing is charged, when `units` exceeds what is left. Call it before the memory
  // is taken.
  [[nodiscard]] bool Charge(uint64_t units) {
    if (units > left_) [[unlikely]]
      return false;
    left_ -= units;
    return true;
  }
  uint64_t left() const { return left_; }

 private:
  uint64_t left_;
};

// Visits values that refer to their parts. `Key` tells one shared value from another: mostly a
// pointer. A walk may be run from several roots; what it has met before is not visited again.
template <typename Key>
class SharedWalk {
 public:
  // Calls leave(key) for `root` and all it consists of that this walk has not met before, each
  // once and after its parts. parts(key, add) calls add(part) for each part, in order; it is
  // called once for each value. False, at once, when a value holds itself. O(values + parts).
  template <typename Parts, typename Leave>
  [[nodiscard]] bool Run(const Key& root, Parts&& parts, Leave&& leave) {
    if (const auto it = is_open_.find(root); it != is_open_.end()) return !it->second;
    const auto enter = [&](const Key& key) {
      is_open_[key] = true;
      frames_.push_back({key, pending_.size()});
      parts(key, [this](const Key& part) { pending_.push_back(part); });
      std::reverse(pending_.begin() + static_cast<ptrdiff_t>(frames_.back().base), pending_.end());
    };
    enter(root);
    while (!frames_.empty()) {
      if (pending_.size() > frames_.back().base) {
        const Key part = pending_.back();
        pending_.pop_back();
        const auto it = is_open_.find(part);
        if (it == is_open_.end()) {
          enter(part);
        } else if (it->second) {
          return false;
        }
        continue;
      }
      const Key key = frames_.back().key;
      frames_.pop_back();
      is_open_[key] = false;
      leave(key);
    }
    return true;
  }
  // Values met so far.
  size_t size() const { return is_open_.size(); }

 private:
  struct Frame {
    Key key;
    size_t base;  // its parts that are still to be visited begin here
  };
  absl::flat_hash_map<Key, bool> is_open_;  // whether it is being visited
  std::vector<Frame> frames_;
  std::vector<Key> pending_;
};

// A value with each shared part written out wherever it is referred to.
struct Expansion {
  uint64_t size = 0;  // at most kMaxExpansion
  int height = 0;     // 0: it has no parts
};
inline constexpr uint64_t kMaxExpansion = uint64_t{1} << 62;
inline uint64_t AddSizes(uint64_t a, uint64_t b) {
  // Both are at most kMaxExpansion.
  return std::min(a + b, kMaxExpansion);
}

// The expansions of values that do not change while this lives.
template <typename Key>
class Expansions {
 public:
  // parts(key, add) as in SharedWalk, and returns how large `key` is without its parts. Nullopt
  // when a value holds itself; nothing may be asked afterwards. O(values + parts) that it has
  // not been asked for before.
  template <typename Parts>
  std::optional<Expansion> Of(const Key& root, Parts&& parts) {
    const bool is_finite = walk_.Run(root, parts, [&](const Key& key) {
      Expansion all;
      uint64_t size = 0;
      const uint64_t own = parts(key, [&](const Key& part) {
        const Expansion& of = all_[part];
        size = AddSizes(size, of.size);
        all.height = std::max(all.height, of.height + 1);
      });
      all.size = AddSizes(size, own);
      all_[key] = all;
    });
    if (!is_finite) return std::nullopt;
    return all_[root];
  }

 private:
  SharedWalk<Key> walk_;
  absl::flat_hash_map<Key, Expansion> all_;
};

// --- Parts of the values that the IR has ---------------------------------------

// Of an expression: its operands. Each term counts for one.
struct SymParts {
  template <typename Add>
  uint64_t operator()(const SymExpr* expr, Add&& add) const {
    if (expr->lhs != nullptr) add(expr->lhs);
    if (expr->rhs != nullptr) add(expr->rhs);
    return 1;
  }
};

// A list, tuple, dict or slice, told from others by where its elements are.
struct AggregateKey {
  explicit AggregateKey(const Argument& aggregate)
      : kind(aggregate.kind()),
        first(aggregate.elements().data()),
        count(aggregate.elements().size()) {}
  AggregateKey() = default;
  Argument argument() const { return Argument::Aggregate(kind, {first, count}); }

  Argument::Kind kind = Argument::Kind::kList;
  const Argument* first = nullptr;
  size_t count = 0;
  friend bool operator==(const AggregateKey& a, const AggregateKey& b) {
    return a.kind == b.kind && a.first == b.first && a.count == b.count;
  }
  template <typename H>
  friend H AbslHashValue(H h, const AggregateKey& key) {
    return H::combine(std::move(h), key.kind, key.first, key.count);
  }
};
// Of an aggregate: the aggregates among its elements. Each element counts for one.
struct ElementParts {
  template <typename Add>
  uint64_t operator()(const AggregateKey& key, Add&& add) const {
    for (size_t i = 0; i < key.count; ++i) {
      if (key.first[i].is_aggregate()) add(AggregateKey(key.first[i]));
    }
    return key.count;
  }
};

// Of a graph: the bodies that its nodes refer to. Each node counts for one.
struct BodyParts {
  template <typename Add>
  uint64_t operator()(const Graph* graph, Add&& add) const {
    for (const Node* node : graph->nodes()) {
      node->ForEachArgument([&](const Argument& argument) {
        if (argument.is_graph()) add(static_cast<const Graph*>(argument.graph()));
      });
    }
    return graph->num_nodes();
  }
};

}  // namespace graphnet

#endif  // GRAPHNET_IR_SHARED_WALK_H_

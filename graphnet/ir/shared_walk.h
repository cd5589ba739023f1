// Tools for values that are shared. A list, a size expression or a body may be a part of many
// others, so N of them can stand for 2^N values when each is written out wherever it is referred
// to. Three tools keep code linear in the shared form:
//
//  * SharedWalk visits each shared value once, parts before wholes, and detects a value that
//    contains itself;
//  * Expansions computes how large and how deep a value is when it is written out;
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
// They do not recurse. Their time and memory are proportional to the values that they meet and
// the references between those.
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

// The most values that all arguments of a node may have when they are written out. No text file
// or drawing can hold more.
inline constexpr uint64_t kMaxWrittenOut = uint64_t{1} << 26;
// The most terms that an expression may have when it is written out.
inline constexpr uint64_t kMaxTerms = uint64_t{1} << 20;

// The size that expansions may still have. The owner chooses the unit: values, expressions or
// nodes.
class Budget {
 public:
  explicit Budget(uint64_t limit) : left_(limit) {}
  // Charges `units`. Returns false, and charges nothing, if fewer are left. Call it before memory
  // is allocated.
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

// Visits values that refer to their parts. `Key` identifies a shared value and is mostly a pointer.
// A walk may be run from several roots; it does not visit a value again that it has met before.
template <typename Key>
class SharedWalk {
 public:
  // Calls leave(key) for `root` and its parts, however deep, that this walk has not met before,
  // each once and after its own parts. parts(key, add) must call add(part) for each part, in
  // order; it is called once for each value. Returns false at once if a value contains itself.
  // O(values + parts).
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
  // The number of values met so far.
  size_t size() const { return is_open_.size(); }

 private:
  struct Frame {
    Key key;
    size_t base;  // Its parts that are still to be visited begin here in pending_.
  };
  absl::flat_hash_map<Key, bool> is_open_;  // True while the value's parts are being visited.
  std::vector<Frame> frames_;
  std::vector<Key> pending_;
};

// The size and depth of a value with each shared part written out wherever it is referred to.
struct Expansion {
  uint64_t size = 0;  // At most kMaxExpansion.
  int height = 0;     // 0 if it has no parts.
};
inline constexpr uint64_t kMaxExpansion = uint64_t{1} << 62;
// Returns a + b, at most kMaxExpansion. Both must be at most kMaxExpansion.
inline uint64_t AddSizes(uint64_t a, uint64_t b) { return std::min(a + b, kMaxExpansion); }

// The expansions of values. The values must not change while this object lives.
template <typename Key>
class Expansions {
 public:
  // Returns the expansion of `root`; nullopt if a value contains itself, after which Of must not be
  // called again. parts(key, add) is as in SharedWalk, and also returns the size of `key` without
  // its parts. O(values + parts) that were not met before.
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

// --- The parts of the IR's shared values ---------------------------------------

// The parts of an expression are its operands. Each term counts as one.
struct SymParts {
  template <typename Add>
  uint64_t operator()(const SymExpr* expr, Add&& add) const {
    if (expr->lhs != nullptr) add(expr->lhs);
    if (expr->rhs != nullptr) add(expr->rhs);
    return 1;
  }
};

// A list, tuple, dict or slice, identified by the address of its elements.
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
// The parts of an aggregate are the aggregates among its elements. Each element counts as one.
struct ElementParts {
  template <typename Add>
  uint64_t operator()(const AggregateKey& key, Add&& add) const {
    for (size_t i = 0; i < key.count; ++i) {
      if (key.first[i].is_aggregate()) add(AggregateKey(key.first[i]));
    }
    return key.count;
  }
};

// The parts of a graph are the bodies to which its nodes refer. Each node counts as one.
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

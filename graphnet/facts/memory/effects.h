// The effects of calls besides their values, by the rows of the callables that they stand for
// (callable.h).
//
//   const Effects effects(module);
//   graph->EliminateDeadCode([&](const Node& node) { return effects.Of(node).is_pure(); });
#ifndef GRAPHNET_FACTS_MEMORY_EFFECTS_H_
#define GRAPHNET_FACTS_MEMORY_EFFECTS_H_

#include <string>
#include <vector>

#include "graphnet/ir/module.h"
#include "graphnet/ir/node_table.h"

namespace graphnet {

// The effects of one call.
struct CallEffects {
  // The target is unknown, so the call may do anything to any value.
  bool is_unknown = false;
  // Draws random numbers, and so changes those that later calls draw.
  bool is_random = false;
  // Must stay even if its value is unused: an assertion, a change of the mode in which later calls
  // run (gradients, autocast, vmap levels), a log entry.
  bool is_statement = false;
  // Operands that it writes to.
  std::vector<const Node*> mutates;
  // Operands that the value may be, be a view of, or contain. Values that share memory with those
  // operands are not listed.
  std::vector<const Node*> aliases;

  // Returns whether the call can be erased if its value is unused.
  bool is_pure() const { return !is_unknown && !is_random && !is_statement && mutates.empty(); }
};

// Returns "pure", or a text such as "random, writes to %x, aliases %x %y".
std::string DescribeEffects(const CallEffects& effects);

// The effects of all calls of a module.
class Effects {
 public:
  // O(nodes), including bodies. `module` must outlive this object and must not change.
  explicit Effects(const Module& module);

  // Returns the effects of any node of the module.
  const CallEffects& Of(const Node& node) const { return effects_[&node]; }

 private:
  NodeTable<CallEffects> effects_;
};

// Divides the values of a module into groups that may share memory.
class MemoryGroups {
 public:
  // `effects` must be those of `module`. O(nodes).
  MemoryGroups(const Module& module, const Effects& effects);

  // Returns the value that stands for the group of `node`. Each value is in exactly one group.
  const Node* Of(const Node* node) const { return roots_[node] == nullptr ? node : roots_[node]; }
  // Returns whether a call of the module may write to the group of `node`.
  bool IsWritten(const Node* node) const { return written_[Of(node)]; }

 private:
  NodeTable<const Node*> roots_;  // null: the node itself
  NodeTable<bool> written_;       // by root
};

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_MEMORY_EFFECTS_H_

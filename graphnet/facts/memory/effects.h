// What calls do besides yielding their values: by the rows of the callables that they
// stand for (callable.h), never by a list of names.
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

struct CallEffects {
  // Nothing resolves the target: it may do anything to anything.
  bool is_unknown = false;
  // Draws from the generator, and so changes what is drawn afterwards.
  bool is_random = false;
  // Is there for more than its value: an assertion, a change of the mode in which
  // later calls run (gradients, autocast, vmap levels), a log entry.
  bool is_statement = false;
  // Values that it writes to.
  std::vector<const Node*> mutates;
  // Operands that the value may be, be a view of, or contain; those that they in
  // turn share memory with are not listed.
  std::vector<const Node*> aliases;

  // Whether it can be left out when nobody uses its value.
  bool is_pure() const { return !is_unknown && !is_random && !is_statement && mutates.empty(); }
};

// "pure", "random, writes to %x, aliases %x %y".
std::string DescribeEffects(const CallEffects& effects);

class Effects {
 public:
  // O(nodes), bodies included. `module` must outlive this object and not change.
  explicit Effects(const Module& module);

  // Of any node of the module.
  const CallEffects& Of(const Node& node) const { return effects_[&node]; }

 private:
  NodeTable<CallEffects> effects_;
};

// The values of a module in groups of those that may share memory.
class MemoryGroups {
 public:
  // Of the effects of `module`. O(nodes).
  MemoryGroups(const Module& module, const Effects& effects);

  // The value that stands for the group of `node`, of which it may be alone.
  const Node* Of(const Node* node) const { return roots_[node] == nullptr ? node : roots_[node]; }
  // Whether a call of the module writes to the group, or may.
  bool IsWritten(const Node* node) const { return written_[Of(node)]; }

 private:
  NodeTable<const Node*> roots_;  // null: the node itself
  NodeTable<bool> written_;       // by root
};

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_MEMORY_EFFECTS_H_

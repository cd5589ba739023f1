// What two graphs differ in, with nodes matched by structure and not by name.
//
//   const GraphDiff diff = DiffModules(*a.module, *b.module);
//   if (!diff.empty()) std::cout << PrintDiff(diff);
//
// Two nodes go together if they do the same to values that go together (from the inputs down),
// or if what goes together uses them alike (from the outputs up); what is left is aligned in
// program order. Names, locations and the order of independent nodes are no difference.
#ifndef GRAPHNET_IDENTITY_DIFF_H_
#define GRAPHNET_IDENTITY_DIFF_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graphnet/ir/module.h"

namespace graphnet {

struct DiffOptions {
  bool metas = false;  // dtypes, shapes and devices count too
};

struct Difference {
  enum class Kind { kRemoved, kAdded, kChanged };
  Kind kind = Kind::kChanged;
  const Node* a = nullptr;  // null: added
  const Node* b = nullptr;  // null: removed
  // Of a change, what and how: "argument 3 (padding): [1, 1] became [0, 0]"; of the others,
  // who takes another value therefore: "%add takes %x instead".
  std::vector<std::string> what;
};

struct GraphDiff {
  // In program order, what was removed before what stands behind it; bodies after the graph
  // that calls them.
  std::vector<Difference> differences;
  // Nodes that go together, changed ones among them.
  std::vector<std::pair<const Node*, const Node*>> pairs;

  bool empty() const { return differences.empty(); }
  size_t Count(Difference::Kind kind) const;
};

// Of two verified modules, which must live as long as the result. About O(n log n).
GraphDiff DiffModules(const Module& a, const Module& b, const DiffOptions& options = {});

// b, with what it lacks of a among its nodes: for a picture of both.
struct DiffUnion {
  std::unique_ptr<Module> module;
  absl::flat_hash_map<const Node*, Difference::Kind> kinds;  // of its nodes; not of equal ones
};
DiffUnion UnionOf(const Module& b, const GraphDiff& diff);

// A line a difference, and one a reason behind it, with the location of the node where it is
// known; empty if there is none:
//
//   - %relu = aten.relu.default(%conv)  at net.py:12
//       %add takes %conv instead
//   ~ %conv = aten.conv2d.default(…)
//       argument 3 (padding): [1, 1] became [0, 0]
std::string PrintDiff(const GraphDiff& diff);
// The line of one behind its sign.
std::string DescribeDifference(const Difference& difference);

}  // namespace graphnet

#endif  // GRAPHNET_IDENTITY_DIFF_H_

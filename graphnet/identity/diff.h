// DiffModules finds the differences between two modules. It matches nodes by structure and not by
// name.
//
//   const GraphDiff diff = DiffModules(*a.module, *b.module);
//   if (!diff.empty()) std::cout << PrintDiff(diff);
//
// Two nodes match if they do the same to matching values (from the inputs down), or if matching
// nodes use them in the same way (from the outputs up). The remaining nodes are aligned in program
// order. Names, locations and the order of independent nodes are not differences.
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

// Options of DiffModules.
struct DiffOptions {
  bool metas = false;  // compare dtypes, shapes and devices, too
};

// One node that was removed, added or changed.
struct Difference {
  // The kind of difference.
  enum class Kind { kRemoved, kAdded, kChanged };
  Kind kind = Kind::kChanged;  // what happened to the node
  const Node* a = nullptr;     // the node of the first module; null if it was added
  const Node* b = nullptr;     // the node of the second module; null if it was removed
  // For a change, each part that differs: "argument 3 (padding): [1, 1] became [0, 0]". For a
  // removed or added node, each user that now takes another value: "%add takes %x instead".
  std::vector<std::string> what;
};

// The differences between two modules.
struct GraphDiff {
  // The differences in program order. A removed node comes before the node that followed it. Bodies
  // come after the graph that calls them.
  std::vector<Difference> differences;
  // Matching nodes of both modules, including changed ones.
  std::vector<std::pair<const Node*, const Node*>> pairs;

  // True if there are no differences.
  bool empty() const { return differences.empty(); }
  // Returns the number of differences of one kind.
  size_t Count(Difference::Kind kind) const;
};

// Compares two verified modules, which must outlive the result. Takes about O(n log n).
GraphDiff DiffModules(const Module& a, const Module& b, const DiffOptions& options = {});

// A module for a picture of both sides of a diff: `b` with the nodes of `a` that `b` lacks.
struct DiffUnion {
  std::unique_ptr<Module> module;  // the copy of `b` with the added nodes
  // The difference of each node of `module` that has one; an element of the diff.
  absl::flat_hash_map<const Node*, const Difference*> differences;
};
// Makes that module. `b` is the second module of the diff, which must outlive the result.
DiffUnion UnionOf(const Module& b, const GraphDiff& diff);

// Prints a line for each difference, with the location of the node if it is known, and then a line
// for each entry of `what`. Returns an empty text without differences:
//
//   - %relu = aten.relu.default(%conv)  at net.py:12
//       %add takes %conv instead
//   ~ %conv = aten.conv2d.default(…)
//       argument 3 (padding): [1, 1] became [0, 0]
std::string PrintDiff(const GraphDiff& diff);
// Returns the line of one difference without its sign.
std::string DescribeDifference(const Difference& difference);

}  // namespace graphnet

#endif  // GRAPHNET_IDENTITY_DIFF_H_

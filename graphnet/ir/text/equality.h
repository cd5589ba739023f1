// Compares the structure of modules, and reports the first difference.
#ifndef GRAPHNET_IR_TEXT_EQUALITY_H_
#define GRAPHNET_IR_TEXT_EQUALITY_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Selects the properties that count beyond structure. Ops, the targets of calls, arguments, the
// order of nodes and the number of attributes always count.
struct EqualityOptions {
  bool names = false;           // Names of nodes and graphs.
  bool metas = true;            // Metas, symbols, relations, annotations and draw specs.
  bool locations = false;       // Source locations and module paths.
  bool attribute_names = true;  // Targets of placeholders and get_attrs.
};
// Compares everything that a module holds.
inline constexpr EqualityOptions kExact = {
    .names = true, .metas = true, .locations = true, .attribute_names = true};

// Returns OK if the modules are equal, else FailedPrecondition with the first difference: graph,
// node, and the contents of `a` and `b`.
absl::Status CheckEqual(const Module& a, const Module& b, const EqualityOptions& options = {});

// Compares the modules and all other fields of the samples but `weights`.
absl::Status CheckEqual(const Sample& a, const Sample& b, const EqualityOptions& options = kExact);

// Returns whether two weights have the same dtype, shape and bytes.
bool SameData(const TensorData& a, const TensorData& b);

// Compares nodes of two graphs one by one, if the caller decides which belong together, such as
// those of a piece and its part of the whole graph.
class NodeComparison {
 public:
  explicit NodeComparison(const EqualityOptions& options) : options_(options) {}

  void Reserve(size_t nodes) { nodes_.reserve(nodes); }
  // Makes the operand `b` count as equal to the operand `a` from now on.
  void Map(const Node* a, const Node* b) { nodes_[b] = a; }
  // Returns the node to which `b` is mapped, or null.
  const Node* MappedTo(const Node* b) const {
    const auto it = nodes_.find(b);
    return it == nodes_.end() ? nullptr : it->second;
  }
  // Maps two nodes, whose operands must have been mapped, and compares them. Their own names count
  // only with `name`. Returns the errors of CheckEqual.
  absl::Status Compare(const Node& a, const Node& b, bool name = true);
  // Compares the graphs to which the compared nodes refer, and the graphs to which those refer.
  // It must come last, since it forgets how nodes are mapped.
  absl::Status CompareBodies();

 private:
  friend class ModuleComparison;
  bool Pair(const Graph* a, const Graph* b);
  absl::Status CompareGraphs(const Graph& a, const Graph& b);
  absl::Status CompareFields(const Node& x, const Node& y, bool name);
  bool Same(const Argument& a, const Argument& b);

  const EqualityOptions options_;
  // Graphs are paired by the arguments that refer to them; their order in the module is ignored.
  absl::flat_hash_map<const Graph*, const Graph*> graphs_;
  absl::flat_hash_set<const Graph*> partners_;  // The graphs of `b` that are paired.
  std::vector<std::pair<const Graph*, const Graph*>> queue_;
  size_t compared_ = 0;  // The number of pairs of `queue_` that are compared.
  absl::flat_hash_map<const Node*, const Node*> nodes_;
};

}  // namespace graphnet

#endif  // GRAPHNET_IR_TEXT_EQUALITY_H_

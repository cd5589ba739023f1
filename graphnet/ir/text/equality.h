// Structural equality of modules, with an account of the first difference.
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

// What counts beyond structure (ops, targets, arguments, order, the targets of
// placeholders, attributes).
struct EqualityOptions {
  bool names = false;           // node and graph names
  bool metas = true;            // metas, symbols, relations, annotations, draw specs
  bool locations = false;       // source locations and module paths
  bool attribute_names = true;  // targets of placeholders and get_attrs
};
// Everything a module holds.
inline constexpr EqualityOptions kExact = {
    .names = true, .metas = true, .locations = true, .attribute_names = true};

// OK if equal; else FailedPrecondition that names the first difference: graph,
// node, what was found in `a` and what in `b`.
absl::Status CheckEqual(const Module& a, const Module& b, const EqualityOptions& options = {});

// The modules, and every other field of the samples but `weights`.
absl::Status CheckEqual(const Sample& a, const Sample& b, const EqualityOptions& options = kExact);

// Whether two weights have one dtype, shape and bytes.
bool SameData(const TensorData& a, const TensorData& b);

// Compares nodes of two graphs one by one, for who decides which go together: a piece
// of a graph with its part of the whole.
class NodeComparison {
 public:
  explicit NodeComparison(const EqualityOptions& options) : options_(options) {}

  void Reserve(size_t nodes) { nodes_.reserve(nodes); }
  // From now on `b` stands for `a` as an operand.
  void Map(const Node* a, const Node* b) { nodes_[b] = a; }
  // What `b` stands for; null if nothing was said.
  const Node* MappedTo(const Node* b) const {
    const auto it = nodes_.find(b);
    return it == nodes_.end() ? nullptr : it->second;
  }
  // Errors as CheckEqual. Operands must have been mapped before. Then maps the two. Their
  // own names count only with `name`.
  absl::Status Compare(const Node& a, const Node& b, bool name = true);
  // Of the graphs that the compared nodes refer to, and those that these refer to. Last:
  // forgets what nodes stand for.
  absl::Status CompareBodies();

 private:
  friend class ModuleComparison;
  bool Pair(const Graph* a, const Graph* b);
  absl::Status CompareGraphs(const Graph& a, const Graph& b);
  absl::Status CompareFields(const Node& x, const Node& y, bool name);
  bool Same(const Argument& a, const Argument& b);

  const EqualityOptions options_;
  // Graphs are paired by what refers to them: their order in the module means nothing.
  absl::flat_hash_map<const Graph*, const Graph*> graphs_;
  absl::flat_hash_set<const Graph*> partners_;  // the graphs of `b` that are paired
  std::vector<std::pair<const Graph*, const Graph*>> queue_;
  size_t compared_ = 0;  // how many of `queue_` are compared
  absl::flat_hash_map<const Node*, const Node*> nodes_;
};

}  // namespace graphnet

#endif  // GRAPHNET_IR_TEXT_EQUALITY_H_

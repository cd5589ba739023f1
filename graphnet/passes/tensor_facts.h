// What can be known of values without running: whether they are tensors, of how many
// dimensions and of which dtype, and some sizes, as squeeze asks for them. From metas
// where there are some, else by rules for the usual operators.
#ifndef GRAPHNET_PASSES_TENSOR_FACTS_H_
#define GRAPHNET_PASSES_TENSOR_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "graphnet/base/arena.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ops/lowering.h"

namespace graphnet {

struct TensorFacts {
  enum class Kind : uint8_t { kUnknown, kTensor, kList, kOther };
  Kind kind = Kind::kUnknown;  // kList: several tensors of these facts
  int rank = -1;               // -1: unknown
  DType dtype = DType::kUnknown;
  // Empty, or one a dimension, -1: unknown. In the arena of the table.
  absl::Span<const int64_t> sizes;

  bool is_tensor() const { return kind == Kind::kTensor; }
  // Whether a tensor that is indexed with it loses one dimension to its own.
  bool is_index() const {
    return is_tensor() && rank >= 0 && dtype != DType::kBool && dtype != DType::kUnknown;
  }
  friend bool operator==(const TensorFacts& a, const TensorFacts& b) {
    return a.kind == b.kind && a.rank == b.rank && a.dtype == b.dtype;  // whatever the sizes
  }
};

class FactsTable {
 public:
  // Of the main graph and of the bodies that vmap calls reach from it; of calls that
  // lowering `refused`, as of all that is not called as it should be, nothing. O(nodes).
  FactsTable(const LoweredModule& lowered, const RefusedCalls& refused);

  // Of a node of the lowered module.
  const TensorFacts& Of(const Node* node) const { return facts_[node]; }
  // Whether calls of `body` differ in the facts of their operands: then nothing in it
  // is known.
  bool IsAmbiguous(const Graph* body) const { return ambiguous_.contains(body); }

 private:
  struct Call;
  absl::Span<const int64_t> Keep(const std::vector<int64_t>& sizes) {
    return arena_.Copy(absl::MakeConstSpan(sizes));
  }
  void AddGraph(const Graph& graph, absl::Span<const TensorFacts> parameters);
  // Of tensors whose sizes a call changes in place, and of all that may be such a tensor, the
  // sizes are not known.
  void FindChangedSizes(const Graph& graph);
  TensorFacts OfCall(const Node& node);
  TensorFacts OfLiteral(const Node& call);
  TensorFacts OfVmap(const Node& call);
  TensorFacts OfSubscript(const Node& call);
  TensorFacts OfArgument(const Argument& argument) const;
  int RankOfEinsum(absl::string_view equation, const Argument& tensors) const;
  DType DTypeOf(const Call& call) const;
  // Rank and, where they are known, sizes of the result.
  void SetShape(const Call& call, TensorFacts* facts);

  const LoweredModule& lowered_;
  const RefusedCalls& refused_;
  Arena arena_;
  NodeTable<TensorFacts> facts_;
  NodeTable<bool> changes_sizes_;
  absl::flat_hash_map<const Graph*, std::vector<TensorFacts>> parameters_;
  absl::flat_hash_map<const Graph*, bool> ambiguous_;
  // Of the results of vmap calls that yield several.
  absl::flat_hash_map<const Node*, std::vector<TensorFacts>> elements_;
};

// The argument that `schema` calls `name` in a call in canonical form; None when it
// is left out or there is none of that name.
Argument ArgumentOf(const Node& call, const Schema& schema, absl::string_view name);

// Of the operator of "aten.add_.Tensor": "add_".
absl::string_view OperatorName(const Schema& schema);
// Of the call of a function, method or operator: "relu" of "torch.nn.functional.relu_" and of
// "aten.relu_.default".
absl::string_view BareName(const Node& call);
// Whether an operator works element by element, by its schema or as an alias of one
// that does.
bool IsPointwise(const Schema& schema);

// Whether an operator yields bools, whatever it is given.
bool YieldsBools(absl::string_view name);

// What stands behind the arrow of an equation of einsum, or would, without spaces.
std::string OutputOfEinsum(absl::string_view equation);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_TENSOR_FACTS_H_

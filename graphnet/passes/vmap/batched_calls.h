// Calls of operators on values that have batch dimensions in front of their own, as
// expand-vmap writes them: a rule for each kind of operator (batching_rules.h).
#ifndef GRAPHNET_PASSES_VMAP_BATCHED_CALLS_H_
#define GRAPHNET_PASSES_VMAP_BATCHED_CALLS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/arena.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/ops/lowering.h"

namespace graphnet {

// The levels of vmap that a value depends on: `prefix` dimensions, one a level, stand in
// front of its own; those of levels that are not in `levels` have size 1.
struct Batch {
  int prefix = 0;
  uint64_t levels = 0;  // bit 0: the outermost

  bool batched() const { return levels != 0; }
  bool Has(int level) const { return (levels >> level & 1) != 0; }
  // Whether all levels of `other` are among its own.
  bool Covers(const Batch& other) const { return (other.levels & ~levels) == 0; }
  friend Batch operator|(const Batch& a, const Batch& b) {
    return {std::max(a.prefix, b.prefix), a.levels | b.levels};
  }
};

// A value of a body where it is expanded.
struct BatchedValue : Batch {
  Argument arg;
  TensorFacts facts;  // without the prefix

  bool is_tensor() const { return arg.is_node() && facts.is_tensor(); }
  int rank() const { return facts.rank(); }
};

struct BatchLevel {
  Argument size;    // None until it is needed
  Argument source;  // a tensor and which of its dimensions it is
  int dim = 0;
  absl::string_view randomness;
};

// An error for a call without a rule; expand-vmap leaves the call and notes `why`.
absl::Status NoRule(absl::string_view why);
absl::Status RankUnknown(const Node& node);
inline constexpr absl::string_view kWritten =
    "a value that is not batched is written to with one that is";

class BatchedCalls {
 protected:
  using Value = BatchedValue;
  using Result = absl::StatusOr<BatchedValue>;
  using Arguments = std::vector<Argument>;

  explicit BatchedCalls(const Module& module)
      : lowered_(*LowerToAten(module, &refused_)), facts_(lowered_, refused_) {}

  // Returns the value of `node`, of the lowered module, for the values of its operands.
  Result Apply(const Node& node);
  // PyTorch draws the numbers of all elements at once, the levels in front.
  Result Draw(const Node& node, const Schema& schema, uint64_t different);
  static bool DropsNothing(const Node& node, const Schema& schema);

  // The value of a lowered node or a constant; nullopt for a structure.
  std::optional<Value> ValueOf(const Argument& argument) const;
  bool AnyBatched(const Argument& argument) const;
  // `argument` with map(node), an argument, in the place of nodes.
  template <typename Fn>
  Argument MapNodes(const Argument& argument, Fn&& map) {
    return MapArgument(argument, &arena_, [&](const Argument& a) {
      return a.is_node() ? Argument(map(a.node())) : a;
    });
  }

  // --- Emission ----------------------------------------------------------------
  Node* Track(Node* node);
  Node* Emit(absl::string_view target, const Arguments& args,
             const std::vector<KwArg>& kwargs = {});
  Argument List(const Arguments& elements);
  Argument Tuple(const Arguments& elements);
  // `count` dimensions of size 1 at `at`.
  Argument Insert(const Argument& x, int at, int count);
  // `count` dimensions from `from` on to `to` on.
  Argument Move(const Argument& x, int from, int to, int count = 1);
  // Dimensions `first` to `last` as one.
  Argument Flatten(const Argument& x, int first, int last);
  // The first element along each of `count` dimensions in front.
  Argument First(const Argument& x, int count);
  // The size of a level, counted from 0.
  Argument SizeOf(int level);

  // Facts about the whole module.
  RefusedCalls refused_;
  LoweredModule lowered_;
  FactsTable facts_;
  Arena arena_;
  // State of the call of torch.vmap that is being expanded.
  Graph* graph_ = nullptr;
  const Node* source_ = nullptr;  // what is emitted stands for it
  std::vector<Node*> emitted_;
  std::vector<BatchLevel> levels_;
  absl::flat_hash_map<const Node*, Value> values_;  // by lowered node
  absl::flat_hash_map<const Node*, std::vector<Value>> tuples_;

 private:
  // A call whose arguments are being changed.
  struct Call {
    const Node* node;
    const Schema* schema;
    Arguments args;
    std::vector<KwArg> kwargs;

    // As the lowered call has it, or its default.
    Argument operator[](absl::string_view name) const { return ArgumentOf(*node, *schema, name); }
    absl::string_view op() const { return schema->name; }
    void Set(absl::string_view name, const Argument& value);
  };
  // The operands of index_put, each with all levels in front.
  struct Put : Batch {
    Argument self, values;
    Arguments indices;
  };
  // The common shape of the indices that are tensors.
  struct IndexShape : Batch {
    int rank = 0;
    int first = -1, last = -1, number = 0;  // where they stand, and how many they are

    bool adjacent() const { return last - first + 1 == number; }
  };
  struct Subscripts {
    Arguments basic;             // slices, numbers and None, those of the levels in front
    std::vector<Value> indices;  // of the dimensions that the basic ones leave
    bool any_tensor = false;
    bool only_slices = true;  // the basic ones, and whole ones
    int rank = -1;            // that the basic ones leave, without the levels
  };

  absl::StatusOr<Call> Begin(const Node& node, const Schema& schema);
  Value Yield(const Call& call, const Batch& batch);
  // The value of an argument that is not a structure.
  Value At(const Call& call, absl::string_view name) const;
  std::vector<Value> ValuesOf(const Argument& list) const;
  // The sizes that the dimensions in front have, and those of `own`.
  Arguments SizesOf(const Batch& batch, absl::Span<const Argument> own = {});
  // With `prefix` dimensions in front and `rank` of its own, for broadcasting; what is
  // not batched stays.
  Argument Align(const Value& v, int prefix, int rank);
  // Like Align, but always, and with the full sizes of all levels in `batch`.
  Argument Materialize(const Value& v, const Batch& batch, int rank);

  // --- Rules -------------------------------------------------------------------
  Result Attribute(const Node& node);
  absl::Status Promote(std::vector<Value>* values);
  Result Pointwise(Call call);
  Result Binary(absl::string_view target, const Value& a, const Value& b, const TensorFacts& facts);
  Result View(Call call, const Value& self);
  Result Repeat(Call call, const Value& self);
  Result Permute(Call call, const Value& self);
  Result SqueezeAll(const Call& call, const Value& self);
  Result Transpose(const Call& call, const Value& self);
  Result Dims(Call call, const Value& self);
  Result Whole(const Call& call, const Value& self);
  Result Expand(Call call, const Value& self);
  Result Join(Call call);
  Result Along(Call call);
  // batched_indexing.cc
  static absl::StatusOr<IndexShape> ShapeOf(const std::vector<Value>& indices);
  Result Index(const Value& self, const std::vector<Value>& indices, const TensorFacts& facts);
  Result IndexSelect(const Call& call, const Value& self);
  Result IndexPut(Call call, const Value& self);
  absl::StatusOr<Put> AlignPut(const Value& self, const std::vector<Value>& indices,
                               const Value& values, bool in_place);
  absl::StatusOr<Subscripts> ReadSubscripts(const Node& node, const Value& self);
  Result Subscript(const Node& node);
  Result SetItem(const Node& node);
  // batched_products.cc
  Result Matmul(Value a, Value b, const TensorFacts& facts);
  Result Linear(const Call& call, const Value& input);
  Result AddMatmul(const Call& call, const Value& self);
  Result Outer(const Call& call, const Value& self);
  Result Attention(Call call);
  Result Einsum(Call call);
  Value Images(Call call, absl::string_view name, const Value& x, bool several);
  Result Pooling(Call call, const Value& self);
  Result Convolution(Call call, const Value& input);
};

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_VMAP_BATCHED_CALLS_H_

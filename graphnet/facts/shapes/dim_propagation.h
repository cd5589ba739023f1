// Finds the sizes in a graph that grow when an input grows. The pass generalize-dims uses it.
#ifndef GRAPHNET_FACTS_SHAPES_DIM_PROPAGATION_H_
#define GRAPHNET_FACTS_SHAPES_DIM_PROPAGATION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/facts/shapes/operator_name.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/node_table.h"

namespace graphnet {

// Facts about a value: its sizes for the symbol's example value, and which of them grow in
// proportion to the symbol.
struct SymbolicSizes {
  enum class Kind { kOther, kTensor, kNumber, kTuple };
  Kind kind = Kind::kOther;
  std::vector<int64_t> sizes;
  std::vector<uint8_t> grows;
  // The next six are about a number, or about a tensor that holds one, as tracing makes from sizes.
  bool holds_number = false;
  std::optional<int64_t> number;  // for the example value, if it is known
  int64_t multiple = 1;           // a divisor of the number, whatever the values of other symbols
  bool is_computed = false;       // from sizes that are other symbols
  bool number_grows = false;      // in proportion to the symbol
  bool number_varies = false;     // depends on the symbol in another way
  std::vector<SymbolicSizes> elements;

  static SymbolicSizes Number(std::optional<int64_t> value) {
    SymbolicSizes made;
    made.kind = Kind::kNumber;
    made.number = value;
    made.multiple = value.value_or(1);
    return made;
  }
  bool any() const {
    return number_grows || number_varies || absl::c_linear_search(grows, uint8_t{1}) ||
           absl::c_any_of(elements, [](const SymbolicSizes& e) { return e.any(); });
  }
  bool is_number() const { return kind == Kind::kNumber || holds_number; }
  bool is_tuple() const { return kind == Kind::kTuple; }
  bool is_tensor() const { return kind == Kind::kTensor; }
  int rank() const { return static_cast<int>(sizes.size()); }
};

// Goes through a graph node by node. generalize-dims derives from it and writes the edits.
class DimPropagation {
 protected:
  explicit DimPropagation(Module* module) : module_(*module) {}

  // Finds how the value of `node` grows. All nodes before it must have been visited.
  absl::Status Visit(Node* node);

  Module& module_;
  size_t dim_ = 0;
  std::vector<Node*> inputs_;
  int64_t example_ = 1;
  const SymExpr* symbol_ = nullptr;  // null: the pass still has to make it
  NodeTable<SymbolicSizes> values_;
  // For each call, the dimensions that have to grow although no operand grows.
  std::map<const Node*, std::set<size_t>> forced_;
  bool again_ = false;  // `forced_` gained an entry
  struct SizeEdit {
    const Argument* place;
    int64_t factor;  // 0: the number there is computed and has the example value
  };
  std::map<const Node*, std::vector<SizeEdit>> edits_;
  std::map<const Node*, std::map<Node*, std::set<size_t>>> expands_;

 private:
  using Names = absl::flat_hash_set<absl::string_view>;
  // The sizes that a call is given, as several arguments or as one list.
  struct SizeList {
    std::vector<const Argument*> sizes;
    std::vector<SymbolicSizes> extents;  // one for each size
    bool is_computed = false;            // one value is the whole list: `sizes` is empty
  };

  static Names Words(absl::string_view text);
  static std::optional<int> DimIn(const Argument* argument, int rank, int otherwise);
  // Returns the sizes from the meta, with none of them growing.
  std::optional<SymbolicSizes> FromMeta(const ValueMeta* meta) const;
  // Returns the positional arguments, followed by those keyword arguments that come next in the
  // order of the parameters.
  static std::vector<Argument> PositionalArgs(const Node& node);
  // Returns the elements of a constant list, or the one number that stands for it.
  static absl::Span<const Argument> ListOf(const Argument* list);
  const SymbolicSizes& Of(const Argument& argument) const;
  // Like Of, but also accepts constant numbers and lists.
  SymbolicSizes SymbolicSizesOf(const Argument& argument) const;
  static absl::Status Refuse(const Node& node, absl::string_view why);
  // Marks which sizes of `out` grow. `out` already has the sizes of the meta.
  absl::Status Follow(Node* node, SymbolicSizes* out);
  absl::Status FollowSize(const Node& node, SymbolicSizes* out);
  absl::Status FollowSubscript(const Node& node, SymbolicSizes* out);
  // Follows a write into a tensor: the written value must grow as the tensor does.
  absl::Status FollowWrite(const Node& node, SymbolicSizes* out);
  SizeList SizesOf(const Node& node, size_t position, absl::string_view name) const;
  // Like SizesOf, but finds the position of parameter `name` in the schemas of the operator.
  // Without one, it uses `position`.
  SizeList NamedSizes(const Node& node, absl::string_view name, size_t position) const;
  // Records that `size`, an argument of `node`, becomes a multiple of the symbol.
  void Edit(Node* node, const Argument* size, int64_t value);
  // Makes sure that sizes of `out` that grow do not stay constants: records an edit or refuses.
  absl::Status WriteSizes(Node* node, const SizeList& list, const SymbolicSizes& out);
  absl::Status FollowReshape(Node* node, absl::string_view name, const SymbolicSizes& in,
                             SymbolicSizes* out);
  // Finds the sizes of `out` that grow if `in` is reshaped to it: dimensions that are split or
  // joined have equal products. `list` states some of the sizes.
  absl::Status SplitAndJoin(const SymbolicSizes& in, const SizeList& list,
                            SymbolicSizes* out) const;
  absl::Status FollowExpand(Node* node, const SymbolicSizes& in, SymbolicSizes* out);
  absl::Status FollowFactory(Node* node, absl::string_view name, SymbolicSizes* out);
  // Marks the sizes of `out` that grow because the call repeats them by numbers that grow.
  absl::Status MarkNumbers(Node* node, SymbolicSizes* out);

  // dim_numbers.cc Follows a call that computes a number, or a list of numbers, from numbers and
  // sizes alone. Returns false for any other call.
  bool FollowNumbers(const Node& node, absl::string_view name, const std::vector<Argument>& args,
                     SymbolicSizes* out) const;
  SymbolicSizes Arithmetic(absl::string_view name, const SymbolicSizes& a,
                           const SymbolicSizes& b) const;
  absl::Status FollowRange(Node* node, SymbolicSizes* out);

  // dim_demands.cc
  // One dimension of an operand, to be `times` as large in a probe.
  struct Stretch {
    const Node* operand = nullptr;
    size_t dim = 0;
    int64_t times = 1;
  };
  // Returns the sizes of each tensor that a call returns if the symbol has the value `symbol`, by
  // the rules of tensor_facts.h; nullopt if one is unknown.
  std::optional<std::vector<std::vector<int64_t>>> Probe(const Node& node, int64_t symbol,
                                                         const Stretch& stretch) const;
  // Finds how `out` grows by probing the rules for several values of the symbol.
  absl::Status FollowProbes(const Node& node, SymbolicSizes* out) const;
  // Makes dimension `dim` of a value grow by changing the calls with constant sizes that made it.
  // Returns false if the value does not come from such calls.
  bool Force(const Argument& argument, size_t dim);
  // Returns whether the call is given the size of this dimension as an argument.
  bool IsMade(const Node& node, size_t dim) const;
  using Demands = std::vector<std::pair<Node*, size_t>>;
  // Returns the dimensions of operands that have to grow so that `dim` of the value grows; nullopt
  // if they are not known.
  std::optional<Demands> DemandsOn(const Node& node, size_t dim) const;
  static std::optional<size_t> SourceOfSubscript(const Argument& index, const SymbolicSizes& in,
                                                 size_t dim);
  // Records that an operand is to be expanded along a dimension of size 1. Returns false if that
  // cannot help.
  bool Expand(Node* node, const Argument& argument, size_t dim);

  // dim_operators.cc
  absl::Status FollowTensor(Node* node, absl::string_view name, SymbolicSizes* out);
  absl::Status FollowAttention(Node* node, SymbolicSizes* out);
  absl::Status FollowInterpolate(const Node& node, const SymbolicSizes& in, SymbolicSizes* out);
  // Follows a norm that also returns its statistics.
  absl::Status FollowNorm(Node* node, const SymbolicSizes& in, SymbolicSizes* out);
  // Returns whether the overload that the node calls is computed element by element: torch.max(x, y)
  // is, torch.max(x, 1) is not.
  bool CallsPointwise(const Node& node) const;
  absl::Status Fits(const SymbolicSizes& out) const;
  absl::Status FollowPointwise(Node* node, SymbolicSizes* out);
  static bool WritesTo(const Node& node, const Argument& argument);
  absl::Status FollowReduction(const Node& node, const SymbolicSizes& in, SymbolicSizes* out);
  absl::Status FollowMatmul(Node* node, size_t first, SymbolicSizes* out);
  absl::Status FollowEinsum(const Node& node, SymbolicSizes* out);
  absl::Status FollowPermute(const Node& node, absl::string_view name, const SymbolicSizes& in,
                             SymbolicSizes* out);
  absl::Status FollowSqueeze(const Node& node, absl::string_view name, const SymbolicSizes& in,
                             SymbolicSizes* out);
  absl::Status FollowCat(Node* node, bool stacks, SymbolicSizes* out);
};

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_DIM_PROPAGATION_H_

// What of the sizes in a graph grows when one of its inputs does: what generalize-dims follows.
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

// What is known of a value: the sizes with the example, and which of them grow with the
// symbol, each by a factor.
struct SymbolicSizes {
  enum class Kind { kOther, kTensor, kNumber, kTuple };
  Kind kind = Kind::kOther;
  std::vector<int64_t> sizes;
  std::vector<uint8_t> grows;
  // Of a number, or of a tensor that holds one, as tracing makes them of sizes.
  bool holds_number = false;
  std::optional<int64_t> number;  // with the example, if it is known
  int64_t multiple = 1;           // that the number is one of, whatever other symbols are
  bool is_computed = false;       // of sizes that are other symbols
  bool number_grows = false;      // with the symbol, by a factor
  bool number_varies = false;     // with the symbol, in another way
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

class DimPropagation {
 protected:
  explicit DimPropagation(Module* module) : module_(*module) {}

  // Finds what the value of `node` grows by, the nodes before it known.
  absl::Status Visit(Node* node);

  Module& module_;
  size_t dim_ = 0;
  std::vector<Node*> inputs_;
  int64_t example_ = 1;
  const SymExpr* symbol_ = nullptr;  // null: to be made
  NodeTable<SymbolicSizes> values_;
  // By call, the dimensions that have to grow though no operand does.
  std::map<const Node*, std::set<size_t>> forced_;
  bool again_ = false;  // since something was found that has to
  struct SizeEdit {
    const Argument* place;
    int64_t factor;  // 0: what stands there is computed of others, and holds the example
  };
  std::map<const Node*, std::vector<SizeEdit>> edits_;
  std::map<const Node*, std::map<Node*, std::set<size_t>>> expands_;

 private:
  using Names = absl::flat_hash_set<absl::string_view>;
  // The arguments that say sizes: the position of the first and how many, or of a list.
  struct SizeList {
    std::vector<const Argument*> sizes;
    std::vector<SymbolicSizes> extents;  // of each
    bool is_computed = false;            // as a whole: `sizes` is empty
  };

  static Names Words(absl::string_view text);
  static std::optional<int> DimIn(const Argument* argument, int rank, int otherwise);
  // Sizes from the meta, none of which grows.
  std::optional<SymbolicSizes> FromMeta(const ValueMeta* meta) const;
  // The arguments by position, those by keyword that come next among them.
  static std::vector<Argument> PositionalArgs(const Node& node);
  // The elements of a list that is written out, or the one number that stands for it.
  static absl::Span<const Argument> ListOf(const Argument* list);
  const SymbolicSizes& Of(const Argument& argument) const;
  // Ditto, of a number or list that is written out, too.
  SymbolicSizes SymbolicSizesOf(const Argument& argument) const;
  static absl::Status Refuse(const Node& node, absl::string_view why);
  // What `out`, which has the sizes of the meta, grows by.
  absl::Status Follow(Node* node, SymbolicSizes* out);
  absl::Status FollowSize(const Node& node, SymbolicSizes* out);
  absl::Status FollowSubscript(const Node& node, SymbolicSizes* out);
  // What is written has to fit what it is written to.
  absl::Status FollowWrite(const Node& node, SymbolicSizes* out);
  SizeList SizesOf(const Node& node, size_t position, absl::string_view name) const;
  // The parameter of that name, or else the one at `position`, as a call has it.
  SizeList NamedSizes(const Node& node, absl::string_view name, size_t position) const;
  // That the i-th size of a call is to be written as a product of the symbol.
  void Edit(Node* node, const Argument* size, int64_t value);
  // Checks that sizes of `out` which grow are not written as numbers, or will not be.
  absl::Status WriteSizes(Node* node, const SizeList& list, const SymbolicSizes& out);
  absl::Status FollowReshape(Node* node, absl::string_view name, const SymbolicSizes& in,
                             SymbolicSizes* out);
  // Which sizes of `out` grow if `in` is given them: dimensions that are split or joined
  // have equal products. `list` says some of them.
  absl::Status SplitAndJoin(const SymbolicSizes& in, const SizeList& list,
                            SymbolicSizes* out) const;
  absl::Status FollowExpand(Node* node, const SymbolicSizes& in, SymbolicSizes* out);
  absl::Status FollowFactory(Node* node, absl::string_view name, SymbolicSizes* out);
  // Sizes of `out` grow where the call is given numbers that do.
  absl::Status MarkNumbers(Node* node, SymbolicSizes* out);

  // dim_numbers.cc
  // What follows from numbers and sizes alone, a number or a list of them; false if the call
  // is another.
  bool FollowNumbers(const Node& node, absl::string_view name, const std::vector<Argument>& args,
                     SymbolicSizes* out) const;
  SymbolicSizes Arithmetic(absl::string_view name, const SymbolicSizes& a,
                           const SymbolicSizes& b) const;
  absl::Status FollowRange(Node* node, SymbolicSizes* out);

  // dim_demands.cc
  // What the shape engine says of the sizes of a call, one list for each tensor that it yields,
  // if the symbol were `symbol`, and a dimension of one operand, if given, `times` as large.
  struct Stretch {
    const Node* operand = nullptr;
    size_t dim = 0;
    int64_t times = 1;
  };
  std::optional<std::vector<std::vector<int64_t>>> Probe(const Node& node, int64_t symbol,
                                                         const Stretch& stretch) const;
  // By the shape engine, asked for some sizes of the symbol.
  absl::Status FollowProbes(const Node& node, SymbolicSizes* out) const;
  // Makes a value grow that calls with written sizes yield, and calls on what they yield;
  // false if it is no such.
  bool Force(const Argument& argument, size_t dim);
  // Whether the dimension is one that the call is told the size of.
  bool IsMade(const Node& node, size_t dim) const;
  using Demands = std::vector<std::pair<Node*, size_t>>;
  // Which dimensions of operands have to grow for that of the value; none: it is not known.
  std::optional<Demands> DemandsOn(const Node& node, size_t dim) const;
  static std::optional<size_t> SourceOfSubscript(const Argument& index, const SymbolicSizes& in,
                                                 size_t dim);
  // Has an operand of one element expanded for a call.
  bool Expand(Node* node, const Argument& argument, size_t dim);

  // dim_operators.cc
  absl::Status FollowTensor(Node* node, absl::string_view name, SymbolicSizes* out);
  absl::Status FollowAttention(Node* node, SymbolicSizes* out);
  // Of a norm that yields its statistics, too.
  absl::Status FollowNorm(Node* node, const SymbolicSizes& in, SymbolicSizes* out);
  static bool IsPythonPointwise(const Node& node);
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

// Views: calls whose value shares the memory of a tensor, and how a value that is written through a
// view gets back into that tensor.
#ifndef GRAPHNET_FACTS_MEMORY_VIEW_STEPS_H_
#define GRAPHNET_FACTS_MEMORY_VIEW_STEPS_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/arena.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/ir/node.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

// One call that makes a view of its first argument. Let p be that argument and v a value that is
// written through the view. The new value of p is then given by `inverse`.
struct ViewStep {
  enum class Inverse : uint8_t {
    kNone,     // unknown: elements overlap, or they are known only at run time
    kSame,     // v
    kReshape,  // v in the sizes of p
    kCall,     // inverse(v, inverse_args…)
    kDense,    // like kCall, with v made contiguous first
    kScatter,  // inverse(p, v, inverse_args…)
  };
  absl::string_view target;         // "aten.select.int"
  absl::Span<const Argument> args;  // positional arguments after the tensor
  Inverse inverse = Inverse::kNone;
  absl::string_view inverse_target;
  absl::Span<const Argument> inverse_args;
};
using ViewSteps = std::vector<ViewStep>;

// The meaning of an index of operator.getitem or setitem for a tensor.
struct Subscript {
  ViewSteps steps;
  int rank_change = 0;  // that the steps make
  // The indices of aten.index and index_put on the view that the steps make: None, tensors, and
  // lists of numbers that stand for tensors. Empty if the steps are the whole index.
  std::vector<Argument> indices;
  // True if a tensor among the indices may stand for a number, so that the value may be a view.
  bool may_be_view = false;
  // True if an index may be a single bool, which aten.index does not accept.
  bool may_be_switch = false;
};

// Reads calls of lowered graphs (ops/lowering.h). All results live in `arena`.
class ViewReader {
 public:
  ViewReader(const FactsTable* facts, Arena* arena) : facts_(*facts), arena_(*arena) {}

  // Returns the views that lead from the first argument of `call` to its value, in order; no step
  // if the value is that tensor itself. Nullopt if the value is not known to be a view, as for
  // reshape of a tensor that may not be contiguous.
  std::optional<ViewSteps> Read(const Node& call, const Schema& schema, bool is_contiguous) const;
  // Like Read, for the i-th element of a list that split, chunk, unbind and the like return.
  std::optional<ViewSteps> ReadElement(const Node& list, const Schema& schema, int64_t i) const;
  // Returns whether a call returns new memory although its schema allows a view.
  bool IsCopy(const Node& call, const Schema& schema) const;
  // Returns the call as a view that cannot be written through.
  ViewStep Opaque(const Node& call, const Schema& schema) const;
  // Reads an index of a tensor with `rank` dimensions; -1 is unknown. Nullopt if the index cannot
  // be expressed by a Subscript.
  std::optional<Subscript> ReadSubscript(int rank, const Argument& index) const;
  // Returns the view of a diagonal; the arguments are those of aten.diagonal.
  ViewStep Diagonal(const Argument& offset, const Argument& dim1, const Argument& dim2) const;

 private:
  using Inverse = ViewStep::Inverse;
  absl::Span<const Argument> Keep(absl::Span<const Argument> arguments) const {
    return arena_.Copy(arguments);
  }
  absl::Span<const Argument> Keep(std::initializer_list<Argument> arguments) const {
    return arena_.Copy(absl::MakeConstSpan(arguments.begin(), arguments.size()));
  }
  // These make a view of a tensor with `rank` dimensions; -1 is unknown. Equal views get equal
  // arguments.
  ViewStep Slice(int rank, const Argument& dim, const Argument& start, const Argument& end,
                 const Argument& step = 1) const;
  ViewStep Select(int rank, const Argument& dim, const Argument& index) const;
  ViewStep Unsqueeze(int64_t dim) const;
  std::optional<ViewSteps> ReadAs(const Node& call, const Schema& schema, bool is_contiguous) const;
  std::optional<ViewSteps> ReadUnfold(const Node& call, const Schema& schema) const;
  std::optional<ViewSteps> ReadPermute(const Node& call, const Schema& schema) const;
  std::optional<ViewSteps> ReadComplexPart(const Node& call, const Schema& schema) const;
  std::optional<ViewSteps> ReadDType(const Node& call, const Schema& schema) const;
  std::optional<ViewSteps> ReadExpand(const Node& call, const Schema& schema) const;

  const FactsTable& facts_;
  Arena& arena_;
};

// Returns the argument that a call passes for a parameter, or the default; None if there is no such
// parameter.
Argument GivenOrDefault(const Node& call, const Schema& schema, absl::string_view name);

// Returns whether two views of a tensor certainly have no element in common. `sizes` is empty if
// the sizes of the tensor are unknown.
bool AreDisjoint(const ViewStep& a, const ViewStep& b, absl::Span<const int64_t> sizes);

// Returns whether the value of the call is contiguous if all its tensor operands are.
bool KeepsContiguous(const Node& call, const Schema& schema);
// Returns whether the value of the call is always contiguous.
bool MakesContiguous(const Node& call, const Schema& schema);

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_MEMORY_VIEW_STEPS_H_

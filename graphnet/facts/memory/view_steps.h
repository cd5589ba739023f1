// Views: calls whose value is another way to see the memory of a tensor, and how a value goes
// back through them.
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

// One call that makes a view of its first argument. With p the tensor that it is a view of and
// v a value for the view, p with v written through the view is
struct ViewStep {
  enum class Inverse : uint8_t {
    kNone,     // not known: elements overlap, or which they are is known only when it is run
    kSame,     // v
    kReshape,  // v in the sizes of p
    kCall,     // inverse(v, inverse_args…)
    kDense,    // ditto of v made contiguous
    kScatter,  // inverse(p, v, inverse_args…)
  };
  absl::string_view target;         // "aten.select.int"
  absl::Span<const Argument> args;  // behind the tensor, by position
  Inverse inverse = Inverse::kNone;
  absl::string_view inverse_target;
  absl::Span<const Argument> inverse_args;
};
using ViewSteps = std::vector<ViewStep>;

// What an index of operator.getitem or setitem means for a tensor.
struct Subscript {
  ViewSteps steps;
  int rank_change = 0;  // by the steps
  // The index of aten.index and index_put on the view that the steps make: None, tensors, and
  // lists of numbers that stand for tensors. Empty: the steps say all.
  std::vector<Argument> indices;
  // Whether there is a tensor among the indices that may stand for a number: the value may be a
  // view.
  bool may_be_view = false;
  // Whether there is one that may be a single bool, which aten.index does not take.
  bool may_be_switch = false;
};

// Reads calls of lowered graphs (ops/lowering.h). What it makes lives in `arena`.
class ViewReader {
 public:
  ViewReader(const FactsTable* facts, Arena* arena) : facts_(*facts), arena_(*arena) {}

  // The views, one after the other, that the value of `call` is of its first argument; none in
  // it if it is that tensor. Nullopt: it is no view, or whether it is one is not known, as for
  // reshape of a tensor of which it is not known that it is contiguous.
  std::optional<ViewSteps> Read(const Node& call, const Schema& schema, bool is_contiguous) const;
  // Ditto of an element of what split, chunk, unbind and the like yield.
  std::optional<ViewSteps> ReadElement(const Node& list, const Schema& schema, int64_t i) const;
  // Whether a call yields memory of its own though its schema says that it may not.
  bool IsCopy(const Node& call, const Schema& schema) const;
  // The call itself, as a view that nothing is written through.
  ViewStep Opaque(const Node& call, const Schema& schema) const;
  // Of a tensor of `rank` dimensions, -1: not known. Nullopt: an index of a kind that has no such
  // meaning.
  std::optional<Subscript> ReadSubscript(int rank, const Argument& index) const;
  ViewStep Diagonal(const Argument& offset, const Argument& dim1, const Argument& dim2) const;

 private:
  using Inverse = ViewStep::Inverse;
  absl::Span<const Argument> Keep(absl::Span<const Argument> arguments) const {
    return arena_.Copy(arguments);
  }
  absl::Span<const Argument> Keep(std::initializer_list<Argument> arguments) const {
    return arena_.Copy(absl::MakeConstSpan(arguments.begin(), arguments.size()));
  }
  // Of a tensor of `rank` dimensions, -1: not known. Equal views are written equally.
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

// What a call gives a parameter, its default if it is left out; None without such a parameter.
Argument GivenOrDefault(const Node& call, const Schema& schema, absl::string_view name);

// Whether two views of a tensor of these sizes (empty: not known) have no element in common.
bool AreDisjoint(const ViewStep& a, const ViewStep& b, absl::Span<const int64_t> sizes);

// Whether the value of the call is contiguous if all the tensors that it takes are.
bool KeepsContiguous(const Node& call, const Schema& schema);
// Whether it is so in any case.
bool MakesContiguous(const Node& call, const Schema& schema);

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_MEMORY_VIEW_STEPS_H_

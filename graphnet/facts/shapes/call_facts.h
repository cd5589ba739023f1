// Internal: a call as tensor_facts.cc and result_sizes.cc see it.
#ifndef GRAPHNET_FACTS_SHAPES_CALL_FACTS_H_
#define GRAPHNET_FACTS_SHAPES_CALL_FACTS_H_

#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "graphnet/facts/shapes/result_rules.h"
#include "graphnet/facts/shapes/tensor_facts.h"

namespace graphnet {

// A call of an operator with its rule and the facts of its operands.
struct CallFacts {
  const Node& node;
  const Schema& schema;
  const ResultRule& rule;
  FactsOfArgument of;
  // Operands that are tensors, including the elements of lists.
  absl::InlinedVector<TensorFacts, 3> tensors;
  std::optional<TensorFacts> condition;  // of a `where`; not among `tensors`

  // Returns the argument of `parameter`, as ArgumentOf does.
  Argument operator[](absl::string_view parameter) const {
    return ArgumentOf(node, schema, parameter);
  }
  bool has(absl::string_view parameter) const { return schema.FindArgument(parameter) != nullptr; }
  // Returns the facts of the i-th tensor, unknown ones if there are fewer tensors.
  TensorFacts tensor(size_t i) const { return i < tensors.size() ? tensors[i] : TensorFacts(); }
};

// Returns the sizes of the result; for a list, the sizes that all its elements share.
std::optional<Sizes> SizesOfResult(const CallFacts& call);
// Returns the sizes of each element of a list that the call returns, an empty vector if the number
// of elements is unknown. `all` has the sizes that the elements share.
std::vector<Sizes> SizesOfPieces(const CallFacts& call, const Sizes& all);

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_CALL_FACTS_H_

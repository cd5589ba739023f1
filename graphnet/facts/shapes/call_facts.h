// A call as tensor_facts.cc and result_sizes.cc look at it.
#ifndef GRAPHNET_FACTS_SHAPES_CALL_FACTS_H_
#define GRAPHNET_FACTS_SHAPES_CALL_FACTS_H_

#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "graphnet/facts/shapes/result_rules.h"
#include "graphnet/facts/shapes/tensor_facts.h"

namespace graphnet {

struct CallFacts {
  const Node& node;
  const Schema& schema;
  const ResultRule& rule;
  FactsOfArgument of;
  // That it takes, those in lists that are written out one by one.
  absl::InlinedVector<TensorFacts, 3> tensors;
  std::optional<TensorFacts> condition;  // of a where, which is none of them

  Argument operator[](absl::string_view parameter) const {
    return ArgumentOf(node, schema, parameter);
  }
  bool has(absl::string_view parameter) const { return schema.FindArgument(parameter) != nullptr; }
  // Nothing known, if there are not so many.
  TensorFacts tensor(size_t i) const { return i < tensors.size() ? tensors[i] : TensorFacts(); }
};

// Of its value; of a list, what all of it have.
std::optional<Sizes> SizesOfResult(const CallFacts& call);
// Of a call that yields a list: of each element, as far as it is known how many there are.
std::vector<Sizes> SizesOfPieces(const CallFacts& call, const Sizes& all);

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_CALL_FACTS_H_

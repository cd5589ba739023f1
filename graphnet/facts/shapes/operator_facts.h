// Operators that are not PyTorch's get their facts by one row each.
//
//   RETURN_IF_ERROR(AddOperatorFacts(
//       "= softmax mylib::fast_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"));
//   RETURN_IF_ERROR(AddOperatorFacts(
//       "broadcast common - mylib::mix(Tensor a, Tensor b, float t) -> Tensor"));
//
// From then on shapes, functionalize, shard, expand-vmap and change-dtype treat calls of
// mylib.fast_softmax.default and mylib.mix.default as they treat those of ATen.
#ifndef GRAPHNET_FACTS_SHAPES_OPERATOR_FACTS_H_
#define GRAPHNET_FACTS_SHAPES_OPERATOR_FACTS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// Takes a row "<facts> <schema>". The facts are one of two:
//
//   "= <operator>": it is another name of an operator of ATen, one of whose overloads has the same
//   parameters, by name, type and order. All that is known of that one is known of it.
//
//   "<sizes> <dtype> <batching>": as in a row of facts/shapes/results.txt, which explains the words.
//   Batching is "-", "dims", "like" or "trailing".
//
// The schema is as PyTorch writes it: it says what the operator writes to and which results are
// views. Facts are for operators that compute the same each time; one that draws random numbers has
// none.
//
// Facts stay for as long as the process runs. An error names the word or the place in the schema
// that cannot be read, and refuses names of PyTorch and those that have facts already. Any thread.
absl::Status AddOperatorFacts(absl::string_view row);

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_OPERATOR_FACTS_H_

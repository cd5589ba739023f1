// Declares facts about operators that PyTorch lacks, one row for each.
//
//   RETURN_IF_ERROR(AddOperatorFacts(
//       "= softmax mylib::fast_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"));
//   RETURN_IF_ERROR(AddOperatorFacts(
//       "broadcast common - mylib::mix(Tensor a, Tensor b, float t) -> Tensor"));
//
// After that, shapes, functionalize, shard, expand-vmap and change-dtype treat calls of
// mylib.fast_softmax.default and mylib.mix.default like calls of ATen's operators.
#ifndef GRAPHNET_FACTS_SHAPES_OPERATOR_FACTS_H_
#define GRAPHNET_FACTS_SHAPES_OPERATOR_FACTS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// Adds the row "<facts> <schema>". The facts have one of two forms:
//
//   "= <operator>": it is another name for an operator of ATen and has all of its facts. One
//   overload of that operator must have the same parameters, by name, type and order, and the same
//   types of results.
//
//   "<sizes> <dtype> <batching>": as in facts/shapes/results.txt, which explains the words.
//   <batching> is "-", "dims", "like" or "trailing".
//
// The schema has PyTorch's form. It says which arguments the operator writes to and which results
// are views. Do not declare facts for an operator that draws random numbers: it must compute the
// same result each time.
//
// Facts stay until the process ends. Returns an error that names the word or the part of the schema
// that cannot be read, or if the name is PyTorch's or has facts already. Any thread.
absl::Status AddOperatorFacts(absl::string_view row);

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_OPERATOR_FACTS_H_

// Computes calls on numbers that are known ahead of time.
#ifndef GRAPHNET_PASSES_PARTIAL_EVALUATION_NUMBERS_H_
#define GRAPHNET_PASSES_PARTIAL_EVALUATION_NUMBERS_H_

#include <compare>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/passes/partial_evaluation/values.h"

namespace graphnet::evaluation {

// Returns "add" for "aten.add.int" and "prim.add.int"; empty for other functions.
absl::string_view NameOf(absl::string_view target);

// Compares two numbers, or two texts; nullopt for other values.
std::optional<std::partial_ordering> Compare(const Value& a, const Value& b);

// Returns Python's function for an operator on integers in tensors; empty if there is none.
absl::string_view IntegerOperator(absl::string_view aten);

// Computes a call on numbers, dtypes and None, among them numbers that the program holds in
// tensors. `exact`: only what is the same with every C library.
std::optional<Value> KnownNumber(absl::string_view target, absl::Span<const Value> args,
                                 bool exact);

}  // namespace graphnet::evaluation

#endif  // GRAPHNET_PASSES_PARTIAL_EVALUATION_NUMBERS_H_

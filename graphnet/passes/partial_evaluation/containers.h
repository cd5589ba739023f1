// Computes TorchScript's operators on lists, tuples and dicts that are known ahead of time.
#ifndef GRAPHNET_PASSES_PARTIAL_EVALUATION_CONTAINERS_H_
#define GRAPHNET_PASSES_PARTIAL_EVALUATION_CONTAINERS_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/passes/partial_evaluation/values.h"

namespace graphnet::evaluation {

// Resolves TorchScript's index, of which a negative one counts from the end; nullopt for one that is
// not known or out of range.
std::optional<size_t> IndexOf(const Value& index, size_t size);
// Returns the indices that [start:end:step] takes from `size` elements; `args` are what is sliced
// and the bounds. nullopt for bounds that are not known.
std::optional<std::vector<size_t>> SlicePlaces(absl::Span<const Value> args, size_t size);

// Returns the operator's result; nullopt for an operator or operands that it cannot compute, where
// TorchScript raises, and where a container would hold itself. `name` is "insert" for
// "aten.insert.t"; there is an argument. Changes the lists and dicts that TorchScript changes. `maker`
// is the call, which makes a list that it returns; null if that may not be followed.
std::optional<Value> KnownContainer(absl::string_view name, absl::Span<const Value> args,
                                    const Node* maker, Values* values);

// Makes a dict of alternating keys and values.
std::optional<Value> MakeDict(absl::Span<const Value> entries, const Node* maker, Values* values);

}  // namespace graphnet::evaluation

#endif  // GRAPHNET_PASSES_PARTIAL_EVALUATION_CONTAINERS_H_

// Computes TorchScript's operators on texts that are known ahead of time.
#ifndef GRAPHNET_PASSES_PARTIAL_EVALUATION_TEXTS_H_
#define GRAPHNET_PASSES_PARTIAL_EVALUATION_TEXTS_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/passes/partial_evaluation/values.h"

namespace graphnet::evaluation {

// Returns the result of an operator that takes or makes texts; nullopt for others, and where
// TorchScript raises. `name` is "upper" for "aten.upper.default"; there is an argument.
std::optional<Value> KnownText(absl::string_view name, absl::Span<const Value> args,
                               Values* values);

}  // namespace graphnet::evaluation

#endif  // GRAPHNET_PASSES_PARTIAL_EVALUATION_TEXTS_H_

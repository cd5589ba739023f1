// Fused operators, which fused.txt declares. A call of one is a call of a Python function, such as
// "fused.skip_layernorm", that stands for a graph. Lowering replaces the call by that graph.
//
//   ASSIGN_OR_RETURN(const FusedCall fused, FindDefinition(call));
//   // fused.rule->definition is the graph; fused.parameters has the values of its parameters
#ifndef GRAPHNET_OPS_FUSED_H_
#define GRAPHNET_OPS_FUSED_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"
#include "graphnet/ops/binder.h"
#include "graphnet/ops/schema.h"
#include "graphnet/ops/wildcard.h"

namespace graphnet {

// Most elements in a list argument of a fused operator. A list takes one step per element, and each
// step passes on the rest.
inline constexpr size_t kMaxFusedElements = 1024;

// A definition of a fused operator, as a rule.
struct FusedRule {
  std::string name;  // "fc.relu"
  std::string text;  // in the form of ParseRules; lines keep their numbers in the file
  std::unique_ptr<Module> module;
  const Graph* definition = nullptr;  // @pattern
  EachNodes each;                     // of the definition
  const Node* call = nullptr;         // the call in @replacement
};

// A fused operator and its definitions.
struct FusedOperator {
  absl::string_view name;       // "fused.fc"
  absl::string_view signature;  // "fused.fc(Tensor input, …) -> Tensor"
  std::string description;      // lines that say what it computes
  std::vector<FusedRule> rules;
};

// Returns all fused operators in the order of fused.txt.
absl::Span<const FusedOperator> FusedOperators();
// Returns null if there is no fused operator of that name.
const FusedOperator* FindFusedOperator(absl::string_view name);
bool IsFused(const Schema& schema);
bool IsFusedCall(const Node& node);

// Parses text in the form of fused.txt. Tests use it with wrong text. InvalidArgument says what is
// wrong, with file, line and column, or with the name of the rule.
absl::StatusOr<std::vector<FusedOperator>> ParseFusedOperators(absl::string_view text,
                                                               absl::string_view file_name);

// The definition that a call stands for.
struct FusedCall {
  const FusedRule* rule = nullptr;
  // The arguments that each parameter of the definition stands for: one, or all of a variadic one.
  absl::flat_hash_map<absl::string_view, absl::Span<const Argument>> parameters;
};
// Finds the definition of a call of a fused operator. The result points to the arguments of `call`.
// InvalidArgument if no rule fits: a list is too short or too long, or words do not go together.
absl::StatusOr<FusedCall> FindDefinition(const BoundCall& call);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_FUSED_H_

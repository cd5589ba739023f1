// Fused operators: what fused.txt declares. A call of one is a call of a function of Python
// ("fused.skip_layernorm") that means the graph it is made of: lowering writes that in its place.
//
//   ASSIGN_OR_RETURN(const FusedCall fused, FindDefinition(call));
//   // fused.rule->definition, in which fused.parameters say what its parameters stand for
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

// How many elements a list may have that a call of a fused operator takes: as many steps as there
// are elements, each of which hands on the rest.
inline constexpr size_t kMaxFusedElements = 1024;

struct FusedRule {
  std::string name;  // "fc.relu"
  std::string text;  // as ParseRules takes it; lines have the numbers of the file
  std::unique_ptr<Module> module;
  const Graph* definition = nullptr;  // @pattern
  EachNodes each;                     // of it
  const Node* call = nullptr;         // of @replacement
};

struct FusedOperator {
  absl::string_view name;       // "fused.fc"
  absl::string_view signature;  // "fused.fc(Tensor input, …) -> Tensor"
  std::string description;      // in lines, what it computes
  std::vector<FusedRule> rules;
};

// In the order of the file.
absl::Span<const FusedOperator> FusedOperators();
const FusedOperator* FindFusedOperator(absl::string_view name);  // null: there is none
bool IsFused(const Schema& schema);
bool IsFusedCall(const Node& node);

// Rules of the form of fused.txt: of the tables here, and of tests that break them.
// InvalidArgument with file, line and column, or the rule, of what is wrong.
absl::StatusOr<std::vector<FusedOperator>> ParseFusedOperators(absl::string_view text,
                                                               absl::string_view file_name);

// What a call is made of.
struct FusedCall {
  const FusedRule* rule = nullptr;
  // What the parameters of the definition stand for: one argument, or as many as there are.
  absl::flat_hash_map<absl::string_view, absl::Span<const Argument>> parameters;
};
// Of a call of a fused operator, whose arguments it points to. InvalidArgument if none of its rules says
// what it is: a list too short or too long, a word that goes with no other.
absl::StatusOr<FusedCall> FindDefinition(const BoundCall& call);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_FUSED_H_

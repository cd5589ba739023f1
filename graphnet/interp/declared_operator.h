// Declares operators by their schema alone, without a library that implements them.
#ifndef GRAPHNET_INTERP_DECLARED_OPERATOR_H_
#define GRAPHNET_INTERP_DECLARED_OPERATOR_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "graphnet/ir/module.h"

namespace graphnet {

struct DeclaredOperator {
  // In PyTorch's syntax: "mylib::observe(Tensor x, float scale=1.0) -> Tensor".
  std::string schema;
  // True if it returns copies of its first tensor operands, one for each result.
  bool is_identity = false;
  // The graph that computes the results from all arguments in order; null if there is none. It has
  // no attributes, and calls only operators that exist already. Unused if `is_identity` is true.
  std::shared_ptr<const Module> body;
};

// Declares the operator to PyTorch, for the rest of the process. Graphs may then call it as
// mylib.observe.default, and TorchScript programs as mylib::observe; without a body, a run ends
// with an error there. Shapes follow from its body, or from its facts
// (facts/shapes/operator_facts.h). InvalidArgument for a malformed schema, for a schema in one of
// PyTorch's own namespaces, and if `body` or `is_identity` does not fit it; AlreadyExists if there
// is an operator of that name. Do not call it while graphs run.
absl::Status DeclareOperator(DeclaredOperator declared);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_DECLARED_OPERATOR_H_

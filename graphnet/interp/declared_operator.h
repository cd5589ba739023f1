// Operators that are known by their schema alone, without a library that has them.
#ifndef GRAPHNET_INTERP_DECLARED_OPERATOR_H_
#define GRAPHNET_INTERP_DECLARED_OPERATOR_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "graphnet/ir/module.h"

namespace graphnet {

struct DeclaredOperator {
  // As PyTorch writes it: "mylib::observe(Tensor x, float scale=1.0) -> Tensor".
  std::string schema;
  // It yields copies of the first tensors that it takes, one for each result.
  bool is_identity = false;
  // Else the graph that computes it, from all its arguments in order; null if it cannot run. It
  // has no attributes, and calls only operators that are there already.
  std::shared_ptr<const Module> body;
};

// Declares the operator to PyTorch, for the rest of the process. From now on graphs may call it as
// mylib.observe.default, and programs of TorchScript as mylib::observe; without a body a run ends
// with an error there. Shapes are found by its body, or by its facts (facts/shapes/operator_facts.h). InvalidArgument for a schema that is
// none, for one of PyTorch's own namespaces, and for what the body or is_identity does not fit;
// AlreadyExists if there is an operator of that name. Not while graphs run.
absl::Status DeclareOperator(DeclaredOperator declared);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_DECLARED_OPERATOR_H_

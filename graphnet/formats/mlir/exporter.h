// Writes a graph of ATen calls as text of MLIR's torch dialect, for compilers that read it: IREE,
// and through torch-mlir-opt the compilers of StableHLO.
//
//   ASSIGN_OR_RETURN(MlirProgram program, ExportMlir(*sample.module));
//
// The text holds one function of value tensors, @main:
//  - Its arguments are the inputs, then the attributes that are read, in the order in which the
//    graph first reads them (MlirProgram::attributes). The text does not hold their values. It
//    returns all tensors and numbers of the output in order, with lists and dicts flattened.
//  - A call of ATen becomes the operator of its overload, with all arguments of the schema. If
//    numbers are passed for tensors, the overload that takes numbers is used. Every value has its
//    full type; a symbolic size is `?`. Arithmetic on sizes uses TorchScript's operators.
//  - Each operation has a location: the node's name and its source line.
//
// Some calls are rewritten because compilers refuse or miscompile them: attention with a mask
// becomes matrix products and a softmax, a masked index_put of one number becomes a where.
//
// A branch on a value becomes torch.prim.If. Calls that are not ATen's, calls that write to memory
// (run the pass functionalize), calls with other bodies, results whose shape depends on values (a
// mask as an index) and operators that the dialect does not have (operators.txt) are refused. Needs
// no LibTorch.
#ifndef GRAPHNET_FORMATS_MLIR_EXPORTER_H_
#define GRAPHNET_FORMATS_MLIR_EXPORTER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/ir/missing_calls.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Options of ExportMlir.
struct MlirOptions {
  // If set, attributes become IREE parameters of this scope, by name
  // (#stream.parameter.named<"model"::"conv.weight">). If empty, they are arguments of @main.
  std::string parameter_scope;
};

// A module as MLIR, with the names of what @main takes.
struct MlirProgram {
  std::string text;                     // the module in MLIR's generic form
  std::vector<std::string> inputs;      // targets of the placeholders, in order
  std::vector<std::string> attributes;  // names of the attributes that are read, in order
};

// Writes the main graph. Its values must have metas (interp/shapes.h finds them). Returns
// InvalidArgument that names the first node that cannot be written. If `missing` is given, it
// collects all such calls.
absl::StatusOr<MlirProgram> ExportMlir(const Module& module, const MlirOptions& options = {},
                                       MissingCalls* missing = nullptr);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_MLIR_EXPORTER_H_

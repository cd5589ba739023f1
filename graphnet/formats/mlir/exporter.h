// Writes a graph of ATen calls as text of MLIR's torch dialect, for compilers that read it: IREE,
// and by torch-mlir-opt StableHLO.
//
//   ASSIGN_OR_RETURN(MlirProgram program, ExportMlir(*sample.module));
//
// One function, @main, of value tensors:
//  - Its arguments are the inputs, then the attributes that are read, in the order of the module
//    (MlirProgram::attributes): their values stay outside. It returns all tensors and numbers of
//    the output, in order, whatever lists and dicts they stand in.
//  - A call of ATen is the operator of its overload, with all arguments of the schema; numbers in
//    the place of tensors choose the overload that takes them. Every value has its full type; a
//    symbolic size is `?`. Python's arithmetic on sizes is written as TorchScript has it.
//  - Each operation has a location: the node's name, and where it comes from.
//
// Written otherwise than it stands, as pipelines take it wrongly or not at all: attention with a
// mask, as matrix products and softmax; a masked index_put of one number, as where.
//
// What is no call of ATen, writes to memory (pass functionalize), has graphs or asks for shapes
// that depend on values (a mask as an index) is refused, as is what the dialect has no operator
// for (operators.txt). Needs no LibTorch.
#ifndef GRAPHNET_FORMATS_MLIR_EXPORTER_H_
#define GRAPHNET_FORMATS_MLIR_EXPORTER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/ir/missing_calls.h"
#include "graphnet/ir/module.h"

namespace graphnet {

struct MlirOptions {
  // Attributes are no arguments but IREE's parameters of this scope, by their names
  // (#stream.parameter.named<"model"::"conv.weight">); empty: arguments.
  std::string parameter_scope;
};

struct MlirProgram {
  std::string text;
  std::vector<std::string> inputs;      // placeholders, in order
  std::vector<std::string> attributes;  // those that are read, in order
};

// Of the main graph, whose values have metas (interp/shapes.h finds them). InvalidArgument names
// the node that cannot be written; with `missing`, all such calls are counted there.
absl::StatusOr<MlirProgram> ExportMlir(const Module& module, const MlirOptions& options = {},
                                       MissingCalls* missing = nullptr);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_MLIR_EXPORTER_H_

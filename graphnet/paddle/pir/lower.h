// Lowers a graph of PyTorch, or of Paddle's Python, to PIR's operators, as Paddle's own functions
// do in a static program.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Module> lowered, ToPir(module));
//   ASSIGN_OR_RETURN(std::string text, PrintPir(*lowered));
//
// A call is first converted as to-paddle (paddle/to_paddle.h) does, and the result then becomes the
// operators that rules.txt gives. Constants that they take as values become pd_op.full and
// pd_op.full_int_array. Any other call keeps its own name, so that nothing is lost; a name outside
// of the dialects pd_op, builtin and cf is not an operator of Paddle. Subscripts and sizes must be
// literal; a call that takes a computed size stays.
//
// The metas of values are those of the graph, or those that facts/shapes/tensor_facts.h infers, or
// those that follow from the operands (result_types.h). PIR cannot hold the following, which is
// dropped: names of values, locations, module paths, draw specs, annotations except those of
// parameters, devices except those of inputs, relations and examples of symbols, and constants that
// the main graph returns. The rest prints (printer.h) and reads back (reader.h) as an equal module.
// A graph that already has operators of PIR does not change.
#ifndef GRAPHNET_PADDLE_PIR_LOWER_H_
#define GRAPHNET_PADDLE_PIR_LOWER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet::pir {

struct PirOptions {
  // True if writes to memory become values where possible (passes/functional/functionalize.h). It
  // helps grouping, since an operator that writes is in no group.
  bool functional = false;
  // True if each operation has the module path of the call that it is made of. The result then
  // differs from what the reader reads.
  bool keep_module_paths = false;
};

// Does the first step of ToPir: inlines regions, and turns writes into values if `options` say so.
// If metas are inferred after it (graphnet shapes), all values that ToPir sees have them. A graph
// that already has operators of PIR does not change.
void PrepareForPir(Module* module, const PirOptions& options = {});

// Lowers a module, which must verify. InvalidArgument if bodies are called so often that the text
// would have many times as many operations as the module has nodes.
absl::StatusOr<std::unique_ptr<Module>> ToPir(const Module& module, const PirOptions& options = {});

// Returns whether the module already has operators of PIR.
bool IsInPirTerms(const Module& module);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_LOWER_H_

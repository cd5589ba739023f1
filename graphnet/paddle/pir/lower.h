// Makes a graph of PyTorch, or of Paddle's Python, one of PIR's operators, as Paddle's own
// functions make them in a static program.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Module> lowered, ToPir(module));
//   ASSIGN_OR_RETURN(std::string text, PrintPir(*lowered));
//
// A call becomes what to-paddle (paddle/to_paddle.h) has for it, and that the operators that
// rules.txt says, constants they take as values made pd_op.full and pd_op.full_int_array. The rule
// for all else: it stays the call that it is, under its own name, so that nothing is lost; what
// is not in the dialects pd_op, builtin and cf is no operator of Paddle. Constants of subscripts
// and sizes count as such only where they are written; a size that is computed makes the call
// that takes it stay.
//
// The metas of values are those that the graph has, or what facts/shapes/tensor_facts.h tells of
// them, or what follows from the operands (result_types.h).
// What PIR has no place for is gone: names of values, locations, module paths, draw specs,
// annotations but that of a parameter, devices but of inputs, relations and examples of symbols,
// and what is no value in what the main graph returns. What is left prints (printer.h) and reads
// back (reader.h) as an equal module. A graph that has operators of PIR already stays as it is.
#ifndef GRAPHNET_PADDLE_PIR_LOWER_H_
#define GRAPHNET_PADDLE_PIR_LOWER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet::pir {

struct PirOptions {
  // Writes to memory become values where they can (passes/functional/functionalize.h): an operator
  // that writes is in no group.
  bool functional = false;
};

// Does what ToPir does first: regions are written where they are called, and writes become values
// if that is asked for. Types that are found after it (graphnet shapes) are those of all values that
// ToPir sees. A graph that has operators of PIR already stays as it is.
void PrepareForPir(Module* module, const PirOptions& options = {});

// Of a module that the verifier accepts. InvalidArgument if bodies are called so often that the
// text would have many times as many operations as the module has nodes.
absl::StatusOr<std::unique_ptr<Module>> ToPir(const Module& module, const PirOptions& options = {});

// Whether a graph has operators of PIR already.
bool IsInPirTerms(const Module& module);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_LOWER_H_

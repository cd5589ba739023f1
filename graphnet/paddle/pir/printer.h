// Prints a graph in the text form of PIR, Paddle's intermediate representation:
//
//   {
//       (%0) = "pd_op.data" [id:1] () {dtype:(pd_op.DataType)float32,name:"x",place:…,
//         shape:(pd_op.IntArray)[64,128],stop_gradient:[false]} : () -> builtin.tensor<64x128xf32>
//         { () }\t(op_1)
//       (%1) = "pd_op.exp" [id:2] (%0) {stop_gradient:[false]} : (builtin.tensor<64x128xf32>) ->
//         builtin.tensor<64x128xf32> { () }\t(op_2)
//       () = "builtin.shadow_output" [id:3] (%1) {output_name:"output_0"} : (…) ->  {  }\t(op_3)
//   }
//
// (spec.md section 8, source 004; Paddle's own printer is pir/src/core/ir_printer.cc.) Each line is
// one operation. %0, %1, … number the values, and ids number the operations. Attributes are sorted
// by name and state their types. An operation ends, after its regions if it has any, with the
// symbolic shapes of its results in braces and its id again.
//
// The graph maps to text as follows:
//  - A placeholder is pd_op.data. A placeholder that is annotated as a parameter is
//    builtin.parameter, and so is a get_attr. Each value that the main graph returns is a
//    builtin.shadow_output.
//  - A function call whose operands are values or None, and whose keywords are attributes
//    (spelling.h), is the operation of that name: "pd_op.add", but also "torch.relu". Any other
//    call is an operation, too, named after its target ("Tensor.view" for a method). Its attribute
//    `call` holds the call in the text form, with operands named %a0, %a1, ….
//  - An operation with regions has them as arguments behind its operands: tuples of a graph and of
//    the outer values that it uses, which are the last parameters of the graph. The parameters
//    before them are parameters of the block. A region returns by cf.yield.
//  - builder.h describes several results. stop_gradient is false for a float value that depends on
//    an input, unless the operation itself sets it.
//  - If a size is symbolic, or there is a cinn_op.fusion, shapes are symbolic: every operation but
//    those of the dialects cinn_op and cf has `sym_shape_str`, and the braces hold the shapes.
//    Otherwise they hold `()` for each result.
//  - Operations of cinn_op have no stop_gradient.
//
// ToPir (lower.h) lowers a graph of PyTorch to Paddle's operators; reader.h reads the text back.
#ifndef GRAPHNET_PADDLE_PIR_PRINTER_H_
#define GRAPHNET_PADDLE_PIR_PRINTER_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet::pir {

// Prints a module, which must verify. InvalidArgument if the text would exceed the limit for
// reading, as it may if bodies are called many times. If `untyped` is not null, it is set to the
// number of values of unknown type, which print as `<<NULL TYPE>>`.
absl::StatusOr<std::string> PrintPir(const Module& module, size_t* untyped = nullptr);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_PRINTER_H_

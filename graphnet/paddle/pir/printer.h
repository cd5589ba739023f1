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
// (spec.md section 8, source 004; Paddle's own printer is pir/src/core/ir_printer.cc.) One line is
// one operation; %0, %1, … are the values in the order in which they come, ids those of the
// operations. Attributes are sorted by name and say their types. The symbolic shapes of the
// results in braces, and the id again, end an operation, behind its regions if it has some.
//
// What stands for what:
//  - A placeholder is pd_op.data, one that is annotated as a parameter builtin.parameter, a
//    get_attr too; what the main graph returns is a builtin.shadow_output each.
//  - A call of a function whose operands are values or None, and whose keywords are attributes
//    (spelling.h), is the operation of that name: "pd_op.add", and so "torch.relu". Any other call
//    is an operation, too, named as it is called ("Tensor.view" a method), and has the call in the
//    text form as the attribute `call`, its operands named %a0, %a1, ….
//  - An operation with regions has them as arguments behind its operands: tuples of a graph and of
//    the values from outside that it uses, the last parameters of the graph; those before them are
//    parameters of the block. What a region returns is cf.yield.
//  - Several results: builder.h. stop_gradient is false where a value is of floats and comes from
//    an input; what an operation says itself counts more.
//  - If a size is symbolic, or there is a cinn_op.fusion, shapes are known as symbols: every
//    operation but those of the dialects cinn_op and cf has `sym_shape_str`, and the braces hold
//    the shapes. Otherwise they hold `()` a result.
//  - Operations of cinn_op have no stop_gradient.
//
// ToPir (lower.h) makes a graph of PyTorch one of Paddle's operators; reader.h reads it back.
#ifndef GRAPHNET_PADDLE_PIR_PRINTER_H_
#define GRAPHNET_PADDLE_PIR_PRINTER_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet::pir {

// Of a module that the verifier accepts. InvalidArgument if the text is longer than one may be
// that is read, as with bodies that are called over and over. `untyped` gets the number of values
// that nothing is known of, `<<NULL TYPE>>`; null: nobody asks.
absl::StatusOr<std::string> PrintPir(const Module& module, size_t* untyped = nullptr);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_PRINTER_H_

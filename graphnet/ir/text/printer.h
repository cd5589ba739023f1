// Prints modules and samples in the text form (docs/text.md), which text/parser.h reads.
//
//   std::cout << PrintModule(*module);
//
// writes
//
//   graphnet.module 1
//
//   graph @forward(
//     %x : f32[2, 8]@cpu,
//     %w : f32[4, 8]@cpu as torch.nn.parameter.Parameter {mean = 0.0, std = 0.1}
//   ) {
//     %linear = torch.nn.functional.linear(%x, %w, None) : f32[2, 4]@cpu
//     %view = .view(%linear, (8,)) : f32[8]@cpu
//     return %view
//   }
//   end
#ifndef GRAPHNET_IR_TEXT_PRINTER_H_
#define GRAPHNET_IR_TEXT_PRINTER_H_

#include <cstddef>
#include <string>

#include "graphnet/ir/argument.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/node.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/tensor_meta.h"

namespace graphnet {

// The parts of a module that are printed. Use a preset; its fields rarely need a change.
struct PrintOptions {
  // Prints everything, for files: parsing the text yields an equal module.
  static PrintOptions Complete() { return {}; }
  // For people: omits locations, prints module paths as comments where they change, and cuts long
  // constants. The parser refuses a text with cut constants.
  static PrintOptions Readable();
  // For comparing computations: numbers nodes and graphs, and omits metas, annotations, locations,
  // draw specs, symbols and attributes.
  static PrintOptions Structure();

  // Prints the "graphnet.module 1" and "end" lines. A text without them is a fragment, which the
  // parser reads, too.
  bool header = true;
  // Prints metas, annotations, draw specs, symbols, relations and attributes.
  bool values = true;
  bool locations = true;              // Prints source locations.
  bool module_paths = true;           // Prints the module path of each node that has one.
  bool module_path_comments = false;  // Prints a comment where the module path changes.
  // Prints %0, %1, … instead of names.
  bool numbered = false;
  size_t max_elements = 0;      // Cuts constant lists with more elements; 0: never.
  size_t max_string_bytes = 0;  // Cuts strings with more bytes; 0: never.
  // Prints the comment that counts the weights of a sample.
  bool weights = true;
};

// Returns the text of a module.
std::string PrintModule(const Module& module, const PrintOptions& options = {});
// Returns the text of the module with the sample's own fields before it. A comment counts the
// weights; their values are not printed.
std::string PrintSample(const Sample& sample, const PrintOptions& options = {});

// Returns a node for messages, as one line without indentation and line end. Omits location and
// module path, and cuts long constants.
std::string PrintNode(const Node& node);
// Returns such a line with the parts that `options` ask for.
std::string PrintNode(const Node& node, const PrintOptions& options);
std::string PrintArgument(const Argument& argument);  // Returns "[%x, 1]".
std::string PrintMeta(const ValueMeta& meta);         // Returns "(f32[2, 8]@cpu, i64[])".
std::string PrintTensorMeta(const TensorMeta& meta);  // Returns "f32[2, S0]@cpu".
std::string PrintSymExpr(const SymExpr& expr);        // Returns "S0*2 + 1".

// Appends the text of a module to `out`.
void AppendModule(const Module& module, const PrintOptions& options, std::string* out);
// Appends the text of a sample.
void AppendSample(const Sample& sample, const PrintOptions& options, std::string* out);
void AppendNode(const Node& node, std::string* out);              // Appends PrintNode(node).
void AppendArgument(const Argument& argument, std::string* out);  // Appends an argument.
void AppendMeta(const ValueMeta& meta, std::string* out);         // Appends the meta of a value.
void AppendTensorMeta(const TensorMeta& meta, std::string* out);  // Appends the meta of a tensor.
void AppendSymExpr(const SymExpr& expr, std::string* out);        // Appends an expression.

}  // namespace graphnet

#endif  // GRAPHNET_IR_TEXT_PRINTER_H_

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

// Take a preset; there is rarely a reason to change a field of it.
struct PrintOptions {
  // Everything, for files: parsing the text gives an equal module.
  static PrintOptions Complete() { return {}; }
  // For people: no locations; module paths as comments where they change; long
  // constants cut, which the parser refuses rather than read something else.
  static PrintOptions Readable();
  // For comparing what graphs compute: nodes and graphs are numbered, metas,
  // annotations, locations, draw specs, symbols and attributes left out.
  static PrintOptions Structure();

  // Print the "graphnet.module 1" and "end" lines; without them the text is a
  // fragment, which the parser also takes.
  bool header = true;
  // Metas, annotations, draw specs, symbols, relations and attributes.
  bool values = true;
  bool locations = true;
  bool module_paths = true;
  bool module_path_comments = false;
  // %0, %1, … in place of names.
  bool numbered = false;
  // Cut constant lists of more elements and strings of more bytes; 0: never.
  size_t max_elements = 0;
  size_t max_string_bytes = 0;
  // The comment that counts the weights of a sample.
  bool weights = true;
};

std::string PrintModule(const Module& module, const PrintOptions& options = {});
// A module text with the sample's own fields in front. Weights are only counted
// in a comment.
std::string PrintSample(const Sample& sample, const PrintOptions& options = {});

// For messages: one line without indentation or line end. PrintNode leaves out
// location and module path, and cuts long constants.
std::string PrintNode(const Node& node);
std::string PrintNode(const Node& node, const PrintOptions& options);
std::string PrintArgument(const Argument& argument);
std::string PrintMeta(const ValueMeta& meta);
std::string PrintTensorMeta(const TensorMeta& meta);
std::string PrintSymExpr(const SymExpr& expr);

// The same, appended to `out`.
void AppendModule(const Module& module, const PrintOptions& options, std::string* out);
void AppendSample(const Sample& sample, const PrintOptions& options, std::string* out);
void AppendNode(const Node& node, std::string* out);
void AppendArgument(const Argument& argument, std::string* out);
void AppendMeta(const ValueMeta& meta, std::string* out);
void AppendTensorMeta(const TensorMeta& meta, std::string* out);
void AppendSymExpr(const SymExpr& expr, std::string* out);

}  // namespace graphnet

#endif  // GRAPHNET_IR_TEXT_PRINTER_H_

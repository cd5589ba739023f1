// The parser of model.py: a generated, straight-line Python subset. Nothing is
// executed.
//
//   module   := import* class
//   import   := "import" NAME | "from" dotted "import" NAME ("," NAME)*
//             | NAME "=" "torch.ops." NAME
//   class    := "class GraphModule(torch.nn.Module):" function named "forward"
//   function := "def" NAME "(" "self"? (NAME (":" dotted)?),* ")" ":" statement*
//   statement := targets "=" expression | target OP "=" expression | call
//              | function (a body for higher-order calls) | "return" expression
//
// One call, operator, subscript or attribute read is one node, as torch.fx
// counts them; aliases, releases (`a = None`), slices, devices and literals are
// not nodes.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_MODEL_PARSER_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_MODEL_PARSER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Adds the graph "forward", and those of nested functions, to `module`, which
// must be empty. Errors are InvalidArgument with file, line and column.
absl::Status ParseModelPy(const std::string& text, absl::string_view file_name, Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_MODEL_PARSER_H_

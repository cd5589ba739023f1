// The parsers of the Python files of a sample. They execute nothing. Errors are InvalidArgument and
// name file, line and column.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_PARSERS_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_PARSERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/graphnet_folder/framework.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Parses model.py, which is written in a straight-line subset of Python:
//
//   module   := import* class
//   import   := "import" NAME | "from" dotted "import" NAME ("," NAME)*
//             | NAME "=" "torch.ops." NAME
//   class    := "class GraphModule(torch.nn.Module):" function named "forward"
//   function := "def" NAME "(" "self"? (NAME (":" dotted)?),* ")" ":" statement*
//   statement := targets "=" expression | target OP "=" expression | call
//              | function (a body for higher-order calls) | "return" expression
//
// Each call, operator, subscript and attribute read is one node, as in torch.fx. Aliases, releases
// (`a = None`), slices, devices and literals are not nodes. Adds the graph "forward", and those of
// nested functions, to `module`, which must be empty.
//
// In Paddle's samples, the class is a paddle.nn.Layer whose method __init__ does nothing, and the
// subset also has
//
//   statement := names "=" expression | names "=" outputs | "del" names
//   outputs   := "(lambda x, f: f(x))(" call ", lambda out: out if isinstance(out, (list, tuple))
//                else (out, None, …))"
//
// where `outputs` says that the call, which is one of paddle._C_ops, returns a tuple. Each name
// that takes a tuple's element is one operator.getitem. A sample that defines modules of its own is
// not a graph, and an error.
absl::Status ParseModelPy(const std::string& text, absl::string_view file_name, Framework framework,
                          Module* module);

// Parses weight_meta.py or input_meta.py. Each class, called a record, describes one argument of
// forward with plain literals as attributes. The two files differ in the prefix of the class names.
// A shape, dtype or device that is `None` is not known. Paddle's files may leave out the device,
// "paddle." before dtypes, and "meta_" in class names; older ones call the bounds low and high.
//
// Gives the placeholders of the module's main graph their metas and draw specs. It is an error if
// the argument of a record is unknown, has another record, or if a record contradicts itself.
enum class MetaFile { kWeightMeta, kInputMeta };
absl::Status ParseMetaPy(const std::string& text, absl::string_view file_name, MetaFile kind,
                         Framework framework, Module* module);

// Parses input_tensor_constraints.py. It has symbols for dynamic dimensions, their example values,
// relations between them, and the shapes of arguments in terms of them.
//
// Declares the symbols and relations in `module` and puts symbolic dimensions into the metas of the
// placeholders of its main graph. Sets `has_constraints` to false if the file is empty. Sets
// `order` to the arguments in the order of the file; empty if the file lists all of them sorted by
// name. It is an error if a shape contradicts weight_meta.py at the example values.
absl::Status ParseConstraintsPy(const std::string& text, absl::string_view file_name,
                                Module* module, bool* has_constraints,
                                std::vector<std::string>* order);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_PARSERS_H_

// The parsers of the Python files of a sample. Nothing is executed; errors are
// InvalidArgument with file, line and column.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_PARSERS_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_PARSERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/graphnet_folder/framework.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// model.py, a generated, straight-line Python subset:
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
// not nodes. Adds the graph "forward", and those of nested functions, to `module`,
// which must be empty.
//
// Of Paddle the class is a paddle.nn.Layer with a method __init__ that does nothing, and there are
//
//   statement := names "=" expression | names "=" outputs | "del" names
//   outputs   := "(lambda x, f: f(x))(" call ", lambda out: out if isinstance(out, (list, tuple))
//                else (out, None, …))"
//
// where `outputs` says that the call, of paddle._C_ops, yields a tuple. What names take apart is
// one operator.getitem each. A sample with modules of its own is no graph, and an error.
absl::Status ParseModelPy(const std::string& text, absl::string_view file_name, Framework framework,
                          Module* module);

// weight_meta.py or input_meta.py: one class a forward argument, with plain literals as
// attributes. They differ in the prefix of the class names. `None` as shape, dtype or
// device says that it is not known. Those of Paddle may leave out the device, "paddle." before
// dtypes and "meta_" in class names; bounds of older ones are called low and high.
//
// Gives the placeholders of the module's main graph their metas and draw specs.
// A record of an unknown argument, a second record of one, and a record that
// contradicts itself are errors.
enum class MetaFile { kWeightMeta, kInputMeta };
absl::Status ParseMetaPy(const std::string& text, absl::string_view file_name, MetaFile kind,
                         Framework framework, Module* module);

// input_tensor_constraints.py: symbols of dynamic dimensions, their example values,
// relations between them, and the shapes of the arguments in terms of them.
//
// Declares the symbols and relations in `module` and puts symbolic dimensions
// into the metas of the placeholders of its main graph. `has_constraints` is
// false for an empty file. `order` lists the arguments as the file does, unless
// it lists all of them sorted by name. A shape that contradicts weight_meta.py
// at the example values is an error.
absl::Status ParseConstraintsPy(const std::string& text, absl::string_view file_name,
                                Module* module, bool* has_constraints,
                                std::vector<std::string>* order);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_PARSERS_H_

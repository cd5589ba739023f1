// Parses a function that torch.fx prints for readers: GraphModule.code and print_readable(). It is in
// the Python of model.py (parsers.h) with annotations, and with attributes of `self`:
//
//   def forward(self, x: "f32[2, 8][8, 1]cpu"):
//       w: "f32[4, 8]" = self.linear.weight
//       body = self.true_graph_0
//       linear: "f32[2, 4]" = torch.ops.aten.linear.default(x, w);  x = w = None
//       return (linear,)
//
// Inputs and results may be flattened by pytree, as in the module of an exported program.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_POSTED_PARSER_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_POSTED_PARSER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"

namespace graphnet {

struct PostedFunction {
  // Given: the empty graph that gets the nodes, and the graphs that `self` has by name.
  Graph* graph = nullptr;
  absl::flat_hash_map<std::string, Graph*> bodies;

  // Found: the annotations of nodes, without quotes, in the order of the text.
  std::vector<std::pair<Node*, std::string>> annotations;
  // Found: true if the text ends before the function returns. The graph then returns the values that
  // nothing uses.
  bool is_cut = false;
};

// Parses the text, which begins with "def forward". Each attribute of `self` that is read becomes an
// attribute of `module`. Targets are those of exported programs: "aten.add.Tensor". InvalidArgument
// names line and column in the text.
absl::Status ParsePostedFunction(const std::string& text, absl::string_view file_name,
                                 Module* module, PostedFunction* function);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_POSTED_PARSER_H_

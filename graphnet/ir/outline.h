// Outline moves nodes of a graph to a body of their own and calls it in their place. Inline does
// the opposite. CutSubgraph copies nodes to a module of their own.
//
//   ASSIGN_OR_RETURN(Node* call, Outline(nodes, "mylib.block", "block"));
//   RETURN_IF_ERROR(Inline(call));
//
// The nodes must be convex: no path from operand to operand leaves the set and comes back to it.
// Only operands count. If some nodes write to memory, use facts/memory/effects.h to find out
// whether they may be moved.
#ifndef GRAPHNET_IR_OUTLINE_H_
#define GRAPHNET_IR_OUTLINE_H_

#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// A convex set of nodes and the values that it exchanges with the rest of its graph. Each list is
// in program order.
struct Subgraph {
  std::vector<Node*> nodes;    // The nodes of the set.
  std::vector<Node*> inputs;   // The nodes outside that are operands of the set.
  std::vector<Node*> outputs;  // The nodes of the set that are used outside.
};
// Returns the nodes with their inputs and outputs. InvalidArgument if the set is empty or holds a
// placeholder, an output or nodes of several graphs. FailedPrecondition, with a path that leaves
// the set and comes back, if it is not convex.
absl::StatusOr<Subgraph> FindSubgraph(absl::Span<Node* const> nodes);

// Moves the nodes to a new graph of the module, which takes their inputs in order and returns their
// one output, or a tuple of their outputs. The call `target(@body, inputs…)` takes the place of the
// last of the nodes. Nodes before it that use the outputs move behind it, in order. Values keep
// their names and metas. Returns the call, or the error of FindSubgraph.
absl::StatusOr<Node*> Outline(absl::Span<Node* const> nodes, absl::string_view target,
                              absl::string_view body_name);

// Copies the nodes to the main graph of a new module, with inputs and outputs as in Outline. The
// module also gets the attributes that the nodes read, their bodies, and all symbols and relations.
std::unique_ptr<Module> CutSubgraph(const Subgraph& subgraph);

// Replaces `call`, which has the form `target(@body, operands…)`, by copies of the nodes of its
// body. The body stays until Module::EraseUnusedGraphs. InvalidArgument if the call has another
// form, or more or fewer operands than the body has parameters.
absl::Status Inline(Node* call);

// Copies `node`, of any graph, to the insertion point of `to`. map(argument) replaces each argument
// that is not an aggregate, however deep it lies.
Node* CopyNode(const Node& node, Graph* to, absl::FunctionRef<Argument(const Argument&)> map);

// Returns the element of `value` that `user` takes if `user` is a getitem of `node` and `value`, a
// tuple or list, replaces `node`. Returns null if `user` is another call or `value` has no such
// element.
const Argument* ElementOf(const Node& user, const Node* node, const Argument& value);

// Makes all uses of `node` uses of `value`. If `value` is a tuple or list, each getitem of `node`
// is erased and replaced by the element that it takes, and likewise getitems of elements that are
// tuples themselves. `node` stays, without uses. O(uses).
void ReplaceUsesWithValue(Node* node, const Argument& value);

}  // namespace graphnet

#endif  // GRAPHNET_IR_OUTLINE_H_

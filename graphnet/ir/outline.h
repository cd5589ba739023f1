// Outline puts nodes of a graph into a body of their own, with a call of it in their
// place; Inline does the opposite; CutSubgraph copies nodes to a module of their own.
//
//   ASSIGN_OR_RETURN(Node* call, Outline(nodes, "mylib.block", "block"));
//   RETURN_IF_ERROR(Inline(call));
//
// Nodes go together if they are convex: no way that follows operands leaves the set and
// comes back to it. Only operands count here: who moves calls that write to memory asks
// facts/memory/effects.h first.
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

// A convex set of nodes and what it exchanges with the rest of its graph, each in program
// order.
struct Subgraph {
  std::vector<Node*> nodes;
  std::vector<Node*> inputs;   // what they take from outside
  std::vector<Node*> outputs;  // those of them that are used outside
};
// InvalidArgument for a set that is empty or holds a placeholder, an output or nodes of
// several graphs; FailedPrecondition, with a way that leaves it and comes back, for one
// that is not convex.
absl::StatusOr<Subgraph> FindSubgraph(absl::Span<Node* const> nodes);

// Moves the nodes to a new graph of the module, which takes their inputs in order and
// returns their outputs: the one, or a tuple of them. `target(@body, inputs…)` takes the
// place of the last of the nodes; what uses them and stood before it goes behind it, in
// order. Values keep their names and metas. Returns the call, or the error of FindSubgraph.
absl::StatusOr<Node*> Outline(absl::Span<Node* const> nodes, absl::string_view target,
                              absl::string_view body_name);

// A module of which the nodes are the main graph, with inputs and outputs as in Outline,
// the attributes they read, their bodies, and all symbols and relations.
std::unique_ptr<Module> CutSubgraph(const Subgraph& subgraph);

// Puts what the body of `call` does in the place of the call, `target(@body, operands…)`.
// The body stays, for Module::EraseUnusedGraphs. InvalidArgument if that is not the form
// of the call, or it has more or fewer operands than the body has parameters.
absl::Status Inline(Node* call);

// Copies `node`, of any graph, to the insertion point of `to`, with map(argument) in the
// place of each argument, however deep, that is no aggregate.
Node* CopyNode(const Node& node, Graph* to, absl::FunctionRef<Argument(const Argument&)> map);

// What `user` takes from `node`, if it is a getitem of it and `value`, which stands for
// `node`, is a tuple or list that has that element; else null.
const Argument* ElementOf(const Node& user, const Node* node, const Argument& value);

// Puts `value` in the place of all uses of `node`. If `value` is a tuple or list, a getitem of
// `node` is erased, and the element that it takes stands in its place; so do getitems of
// elements that are tuples themselves. `node` stays, without uses. O(uses).
void ReplaceUsesWithValue(Node* node, const Argument& value);

}  // namespace graphnet

#endif  // GRAPHNET_IR_OUTLINE_H_

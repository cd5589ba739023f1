// UncheckedBuilder: the speed doors of a Graph, for readers of formats and for who
// copies whole graphs. The caller answers for what each function says of its arguments;
// the verifier finds what was wrong.
#ifndef GRAPHNET_IR_UNCHECKED_BUILDER_H_
#define GRAPHNET_IR_UNCHECKED_BUILDER_H_

#include <cstddef>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/graph.h"

namespace graphnet {

class UncheckedBuilder {
 public:
  explicit UncheckedBuilder(Graph* graph) : graph_(graph) {}

  // Like Graph::CreateNode, of a name that is unique in the graph, or empty until SetName.
  Node* CreateNode(Op op, absl::string_view target, absl::Span<const Argument> args,
                   absl::Span<const KwArg> kwargs, absl::string_view name) {
    return graph_->MakeNode(op, target, args, kwargs, name);
  }
  // Ditto, when the target, the keywords and what the arguments refer to belong to the
  // module already. Only aggregates with nodes in them are copied.
  Node* CreateNodeFromInterned(Op op, const absl::string_view* target,
                               absl::Span<const Argument> args, absl::Span<const KwArg> kwargs,
                               absl::string_view name);
  // Gives a node a name that is, or is about to be, unique.
  void SetName(Node* node, absl::string_view name) { graph_->SetName(node, name); }
  // `meta` is interned in the module.
  void SetMeta(Node* node, const ValueMeta* meta) { node->meta_ = meta; }
  // Like Graph::CopyNodeFrom, of a name that is unique. `map` is called for each operand
  // in the order of Node::ForEachOperand.
  Node* CopyNode(const Node& node, absl::FunctionRef<Node*(Node*)> map,
                 absl::FunctionRef<Graph*(Graph*)> map_graph) {
    return graph_->CopyNode(node, /*unique_name=*/true, map, map_graph);
  }
  // A placeholder that stands for `node`, of any graph of any module, with its name,
  // which is unique here, its annotation and its meta.
  Node* PlaceholderFor(const Node& node, absl::string_view target);
  // Makes room for the names of as many nodes as are about to be made.
  void ReserveNames(size_t nodes) { graph_->by_name_.reserve(graph_->by_name_.size() + nodes); }

 private:
  Graph* const graph_;
};

}  // namespace graphnet

#endif  // GRAPHNET_IR_UNCHECKED_BUILDER_H_

// UncheckedBuilder: fast ways to build a Graph, for readers of formats and for code that copies
// whole graphs. The caller guarantees what each function requires of its arguments. The verifier
// finds violations afterwards.
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

  // Like Graph::CreateNode, with a name that is unique in the graph, or empty until SetName.
  Node* CreateNode(Op op, absl::string_view target, absl::Span<const Argument> args,
                   absl::Span<const KwArg> kwargs, absl::string_view name) {
    return graph_->MakeNode(op, target, args, kwargs, name);
  }
  // Like CreateNode, for a target, keywords and contents of arguments that belong to the module
  // already. Only aggregates that contain nodes are copied.
  Node* CreateNodeFromInterned(Op op, const absl::string_view* target,
                               absl::Span<const Argument> args, absl::Span<const KwArg> kwargs,
                               absl::string_view name);
  // Renames a node. The name must be unique, or become unique when other nodes are renamed.
  void SetName(Node* node, absl::string_view name) { graph_->SetName(node, name); }
  // Sets the meta, which must be interned in the module.
  void SetMeta(Node* node, const ValueMeta* meta) { node->meta_ = meta; }
  // Like Graph::CopyNodeFrom, for a node whose name is unique here. `map` is called for each
  // operand in the order of Node::ForEachOperand.
  Node* CopyNode(const Node& node, absl::FunctionRef<Node*(Node*)> map,
                 absl::FunctionRef<Graph*(Graph*)> map_graph) {
    return graph_->CopyNode(node, /*unique_name=*/true, map, map_graph);
  }
  // Adds a placeholder that stands for `node`, of any graph of any module, with its annotation, its
  // meta and its name, which must be unique here.
  Node* PlaceholderFor(const Node& node, absl::string_view target);
  // Reserves room for the names of `nodes` more nodes.
  void ReserveNames(size_t nodes) { graph_->by_name_.reserve(graph_->by_name_.size() + nodes); }

 private:
  Graph* const graph_;
};

}  // namespace graphnet

#endif  // GRAPHNET_IR_UNCHECKED_BUILDER_H_

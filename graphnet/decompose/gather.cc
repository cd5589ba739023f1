#include "graphnet/decompose/gather.h"

#include <iterator>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/graph_index.h"
#include "graphnet/decompose/mutation.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ir/outline.h"

namespace graphnet {
namespace {

// The group that a node goes to. Nodes of one group keep their order.
enum Place { kFront, kInside, kBehind };

}  // namespace

absl::StatusOr<Range> GatherNodes(absl::Span<Node* const> nodes) {
  std::vector<Node*> operators;
  absl::c_copy_if(nodes, std::back_inserter(operators), [](Node* n) { return IsOperator(*n); });
  if (operators.empty()) return absl::InvalidArgumentError("the nodes include no operator");
  ASSIGN_OR_RETURN(const Subgraph subgraph, FindSubgraph(operators));
  Node* const first = subgraph.nodes.front();
  Node* const behind = subgraph.nodes.back()->next();
  Graph* const graph = first->graph();
  const GraphIndex index(*graph);
  const MutableClasses classes(index);

  NodeTable<Place> places(*graph->module());
  for (const Node* node : subgraph.nodes) places[node] = kInside;
  // By place: the last node there that touched a class of memory.
  absl::flat_hash_map<int, const Node*> touched[kBehind + 1];
  std::vector<Node*> moved[kBehind + 1];
  for (Node* node = first; node != behind; node = node->next()) {
    Place& place = places[node];
    if (node->op() == Op::kGetAttr) {  // It has no operands and touches no memory.
      moved[kFront].push_back(node);
      continue;
    }
    std::vector<int> its_classes = {classes.ClassOf(index.IndexOf(node))};
    node->ForEachOperand([&](const Node* operand) {
      its_classes.push_back(classes.ClassOf(index.IndexOf(operand)));
      if (place == kFront && places[operand] != kFront) place = kBehind;
    });
    for (const int c : its_classes) {
      if (c == MutableClasses::kNone) continue;
      // Nodes that stood before it but go behind it must not share such memory with it.
      for (int later = place + 1; later <= kBehind; ++later) {
        if (const auto other = touched[later].find(c); other != touched[later].end()) {
          return absl::FailedPreconditionError(
              absl::StrCat("%", Printable(node->name()), " would go in front of %",
                           Printable(other->second->name()),
                           ", and they share memory that the graph writes to"));
        }
      }
      touched[place][c] = node;
    }
    moved[place].push_back(node);
  }
  for (Node* node : moved[kFront]) graph->MoveBefore(node, first);
  for (Node* node : moved[kBehind]) graph->MoveBefore(node, behind);

  const GraphIndex gathered(*graph);
  const int64_t start = gathered.operator_of(gathered.IndexOf(first));
  return Range{start, start + static_cast<int64_t>(subgraph.nodes.size())};
}

}  // namespace graphnet

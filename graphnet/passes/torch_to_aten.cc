#include "graphnet/passes/torch_to_aten.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ir/text/equality.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/passes/pass.h"

namespace graphnet {
namespace {

// Replaces the calls of `graph` by those of `lowered`.
void Replace(Graph* graph, const Graph& lowered, const LoweredModule& all,
             const absl::flat_hash_map<const Graph*, Graph*>& graphs, NodeTable<Node*>& made) {
  const auto map = [&](Node* node) { return made[node]; };
  const auto map_graph = [&](Graph* body) { return graphs.at(body); };
  // Erased nodes stay readable for as long as the module lives.
  std::vector<Node*> old;
  for (Node* node : graph->nodes()) {
    if (!node->is_placeholder()) old.push_back(node);
  }
  for (auto it = old.rbegin(); it != old.rend(); ++it) graph->EraseNode(*it);
  for (Node* node : lowered.nodes()) {
    const Node* origin = all.origins[node];
    if (node->is_placeholder() && origin->is_placeholder()) {
      made[node] = const_cast<Node*>(origin);
      continue;
    }
    Node* copy = graph->CopyNodeFrom(*node, map, map_graph);
    made[node] = copy;
    if (node->is_output() || node->is_placeholder()) {
      copy->set_location(origin->location());
      continue;
    }
    const Argument& value = all.values[origin];
    if (value.is_node() && value.node() == node) copy->set_meta(origin->meta());
  }
}

}  // namespace

absl::StatusOr<bool> TorchToAten(Module* module) {
  ASSIGN_OR_RETURN(const LoweredModule lowered, LowerToAten(*module));
  // Return early if the module is in ATen already.
  const EqualityOptions structure = {
      .names = false, .metas = false, .locations = false, .attribute_names = false};
  if (CheckEqual(*module, *lowered.module, structure).ok()) return false;
  absl::flat_hash_map<const Graph*, Graph*> graphs;
  const size_t before = module->graphs().size();
  for (size_t i = 0; i < lowered.module->graphs().size(); ++i) {
    // New bodies come after the original ones.
    Graph* const made = lowered.module->graphs()[i];
    graphs[made] = i < before ? module->graphs()[i] : module->AddGraph(made->name());
  }
  NodeTable<Node*> copies(*lowered.module);
  for (Graph* graph : lowered.module->graphs()) {
    Replace(graphs.at(graph), *graph, lowered, graphs, copies);
  }
  module->EraseUnusedGraphs();
  return true;
}

namespace {

const RegisteredPass kTorchToAtenPass("torch-to-aten", "torch_to_aten.h",
                                      [](Module* module, PassRun&) { return TorchToAten(module); });

}  // namespace

}  // namespace graphnet

#include "graphnet/paddle/pir/fusion.h"

#include <cstddef>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/paddle/pir/builder.h"
#include "graphnet/paddle/pir/groups.h"

namespace graphnet::pir {
namespace {

void Fuse(Graph* graph, const Unit& unit, Node* before) {
  Module* module = graph->module();
  const absl::flat_hash_set<Node*> members(unit.nodes.begin(), unit.nodes.end());
  // Find the inputs, in the order of their first use, and the results.
  std::vector<Node*> inputs;
  absl::flat_hash_set<Node*> seen;
  std::vector<Node*> outputs;
  for (Node* node : unit.nodes) {
    node->ForEachOperand([&](Node* operand) {
      if (!members.contains(operand) && seen.insert(operand).second) inputs.push_back(operand);
    });
    for (Node* user : node->users()) {
      if (members.contains(user)) continue;
      outputs.push_back(node);
      break;
    }
  }
  Graph* body = module->AddGraph("region");
  absl::flat_hash_map<const Node*, Node*> inner;
  std::vector<Argument> region = {Argument(body)};
  for (size_t i = 0; i < inputs.size(); ++i) {
    Node* parameter = body->Placeholder(absl::StrCat("captured_", i));
    parameter->set_meta(inputs[i]->meta());
    parameter->set_annotation(inputs[i]->is_placeholder() ? "" : inputs[i]->annotation());
    inner[inputs[i]] = parameter;
    region.emplace_back(inputs[i]);
  }
  for (Node* node : unit.nodes) {
    inner[node] = body->CopyNodeFrom(*node, [&](Node* operand) { return inner.at(operand); });
  }
  std::vector<Argument> yielded;
  std::vector<const ValueMeta*> metas;
  for (Node* output : outputs) {
    Node* store = body->CallFunction("cinn_op.yield_store", {inner.at(output)});
    store->set_meta(output->meta());
    yielded.emplace_back(store);
    metas.push_back(output->meta());
  }
  body->Output(Argument::Tuple(yielded));

  const InsertionGuard guard(graph, before);
  Node* fusion = graph->CallFunction("cinn_op.fusion", {Argument::Tuple(region)});
  const bool is_one = outputs.size() == 1;
  fusion->set_meta(is_one ? metas[0] : module->InternTupleMeta(metas));
  for (size_t i = 0; i < outputs.size(); ++i) {
    Node* result = fusion;
    if (!is_one) {
      result = graph->CallFunction("operator.getitem", {fusion, static_cast<int64_t>(i)});
      result->set_meta(metas[i]);
    }
    outputs[i]->ReplaceUsesWithIf(result, [&](Node* user) { return !members.contains(user); });
  }
}

}  // namespace

void FuseGroups(Module* module) {
  Graph* graph = module->main();
  const std::vector<Unit> units = GroupsOf(*graph);
  Node* const output = graph->output();
  // Move all nodes that stay to the end, in the order of the units.
  for (const Unit& unit : units) {
    if (unit.is_group) {
      Fuse(graph, unit, output);
      continue;
    }
    for (Node* node : unit.nodes) {
      std::vector<Node*> results;
      for (Node* user : node->users()) {
        const Node* of = nullptr;
        size_t i = 0;
        if (IsResult(*user, &of, &i)) results.push_back(user);
      }
      graph->MoveBefore(node, output);
      for (Node* result : results) graph->MoveBefore(result, output);
    }
  }
  for (const Unit& unit : units) {
    if (!unit.is_group) continue;
    for (auto it = unit.nodes.rbegin(); it != unit.nodes.rend(); ++it) graph->EraseNode(*it);
  }
  NameNodes(module);
}

}  // namespace graphnet::pir
